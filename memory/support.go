package memory

import (
	"slices"
	"strings"

	"headstart/retrieval/analyse"
)

// supported tells whether a turn says what a fact says: the turn holds its numbers
// and some of its words, the caller has said most of its words, and where the
// turn says it there is a "no" as the fact has one.
func (a *admission) supported(fact, turn string) (Reason, string) {
	if n, ok := a.missingNumber(fact, turn); ok {
		return BecauseNumbers, "the turn has no " + n
	}
	words, numbers := a.contentOf(fact), a.numbers(fact)
	in := set(a.words.Content(turn))
	near, all := len(numbers), len(numbers) // every number is in the turn
	for w := range words {
		if in[w] {
			near++
		}
		if in[w] || a.heard[w] {
			all++
		}
	}
	if units := len(words) + len(numbers); near == 0 || 2*all <= units || 3*near < units {
		return BecauseUnsupported, "the turn does not say it"
	}
	if !a.samePolarity(fact, turn) {
		return BecauseNegation, "one of the fact and the turn has a no that the other has not"
	}
	return "", ""
}

// contentOf are the content words of a fact, each once, without those by which a
// fact is told rather than said. A fact of nothing else is judged by them.
func (a *admission) contentOf(fact string) map[string]bool {
	words := set(a.words.Content(fact))
	telling := a.telling()
	kept := make(map[string]bool, len(words))
	for w := range words {
		if !telling[w] {
			kept[w] = true
		}
	}
	if len(kept) == 0 {
		return words
	}
	return kept
}

// tellings put a fact into the third person: no caller says them.
var tellings = map[string]string{
	"es": "cliente clienta paciente llamante persona usuario usuaria prefiere prefiera desea quiere indica dice menciona señala",
	"en": "caller customer client patient person user prefers wants likes says mentions states has",
	"pt": "cliente paciente pessoa usuario usuaria utente prefere deseja quer diz menciona indica",
	"fr": "client cliente patient patiente appelant appelante personne prefere souhaite veut dit indique mentionne",
	"de": "anrufer anruferin kunde kundin patient patientin person bevorzugt mochte will sagt erwahnt",
	"it": "cliente paziente chiamante persona utente preferisce desidera vuole dice menziona indica",
}

func (a *admission) telling() map[string]bool {
	return set(a.words.Content(tellings[a.words.Language()]))
}

// missingNumber is a number of the fact that the turn does not have, spoken ones
// read as digits on both sides. A number may be parted otherwise: 600 123 456 is
// "seis cero cero uno dos tres…".
func (a *admission) missingNumber(fact, turn string) (string, bool) {
	said := figureRuns(a.words.Figures(turn))
	for _, run := range a.runs(fact) {
		if standsIn(strings.Join(run, ""), said) {
			continue
		}
		for _, n := range run {
			if !standsIn(n, said) {
				return n, true
			}
		}
	}
	return "", false
}

// standsIn tells whether some groups of one run, side by side, are these digits.
func standsIn(digits string, runs [][]string) bool {
	for _, run := range runs {
		for i := range run {
			var whole strings.Builder
			for _, n := range run[i:] {
				if whole.WriteString(n); len(whole.String()) >= len(digits) {
					break
				}
			}
			if whole.String() == digits {
				return true
			}
		}
	}
	return false
}

// figureRuns are the groups of digits of a text, those together that may be one
// number.
func figureRuns(text string) [][]string {
	var runs [][]string
	gap := "-" // nothing before the first
	for text != "" {
		start := strings.IndexFunc(text, isASCIIDigit)
		if start < 0 {
			return runs
		}
		gap += text[:start]
		end := start + strings.IndexFunc(text[start:]+" ", func(r rune) bool { return !isASCIIDigit(r) })
		if len(runs) == 0 || !glues(gap) {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], text[start:end])
		text, gap = text[end:], ""
	}
	return runs
}

func isASCIIDigit(r rune) bool { return r >= '0' && r <= '9' }

// runs are the numbers of a text, spoken ones too. A lone one that is said in a word
// is an article and no number: "tiene un perro".
func (a *admission) runs(text string) [][]string {
	runs := figureRuns(a.words.Figures(text))
	if slices.ContainsFunc(wordsOf(text), func(w string) bool { return w == "1" }) {
		return runs
	}
	return slices.DeleteFunc(runs, func(run []string) bool { return len(run) == 1 && run[0] == "1" })
}

// numbers are the groups of digits of a text, sorted.
func (a *admission) numbers(text string) []string {
	all := slices.Concat(a.runs(text)...)
	slices.Sort(all)
	return all
}

// samePolarity looks at the clauses of a turn that share the most with a fact: one
// of them has a "no" exactly where the fact has.
func (a *admission) samePolarity(fact, turn string) bool {
	negated := a.negates(fact)
	for _, clause := range a.nearest(fact, turn) {
		if a.negates(clause) == negated {
			return true
		}
	}
	return false
}

// nearest are the clauses of a turn that share the most words and numbers with a
// fact, in order; never none.
func (a *admission) nearest(fact, turn string) []string {
	words, numbers := a.contentOf(fact), a.numbers(fact)
	best, most := []string{}, -1
	for _, clause := range a.clauses(turn) {
		n := 0
		for w := range set(a.words.Content(clause)) {
			if words[w] {
				n++
			}
		}
		for _, d := range a.numbers(clause) {
			if slices.Contains(numbers, d) {
				n++
			}
		}
		switch {
		case n > most:
			best, most = []string{clause}, n
		case n == most:
			best = append(best, clause)
		}
	}
	return best
}

// turnings begin a clause that may say the opposite of the one before.
var turnings = set(strings.Fields(`pero sino aunque ahora but although now mas mais agora maintenant aber sondern doch jetzt
	ma pero invece adesso ora porque because denn weil parce perche`))

// clauses cuts a text at its punctuation and before a word that turns it.
func (a *admission) clauses(text string) []string {
	var all []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",.;:!?¡¿—…\n", r) }) {
		var clause []string
		for word := range strings.FieldsSeq(part) {
			if turnings[analyse.Fold(word)] && len(clause) > 0 {
				all = append(all, strings.Join(clause, " "))
				clause = nil
			}
			clause = append(clause, word)
		}
		if len(clause) > 0 {
			all = append(all, strings.Join(clause, " "))
		}
	}
	if len(all) == 0 {
		return []string{text}
	}
	return all
}

// negations say no, folded; "sin" and its kin deny what follows as "no" does.
var negations = map[string]map[string]bool{
	"es": set(strings.Fields("no nunca jamas tampoco sin ni ningun ninguna ninguno nada nadie")),
	"en": set(strings.Fields("no not never neither nor without none nobody nothing cannot dont doesnt didnt isnt arent wasnt cant wont")),
	"pt": set(strings.Fields("nao nunca jamais tampouco sem nem nenhum nenhuma nada ninguem")),
	"fr": set(strings.Fields("pas jamais ni sans aucun aucune rien non")),
	"de": set(strings.Fields("nicht nie niemals kein keine keinen keinem keiner keines ohne weder nichts niemand")),
	"it": set(strings.Fields("non mai senza nessun nessuno nessuna niente nulla neanche")),
}

// negates tells whether a clause has an odd number of words that say no: "no sin"
// is a yes. In Spanish, Portuguese, French and Italian two of them are one ("no
// quiero nada").
func (a *admission) negates(clause string) bool {
	code := a.words.Language()
	n := 0
	for _, word := range spokenWords(clause) {
		if a.saysNo(word) {
			n++
		}
	}
	if code == "en" || code == "de" {
		return n%2 == 1
	}
	return n > 0
}

// affirmed is a text without the words that say no.
func (a *admission) affirmed(text string) string {
	return strings.Join(slices.DeleteFunc(spokenWords(text), a.saysNo), " ")
}

// spokenWords are the folded words of a text, with the apostrophes inside them.
func spokenWords(text string) []string {
	return strings.FieldsFunc(analyse.Fold(text), func(r rune) bool { return !isPart(r) && r != '\'' && r != '’' })
}

func (a *admission) saysNo(word string) bool {
	bare := strings.NewReplacer("'", "", "’", "").Replace(word)
	list, known := negations[a.words.Language()]
	return known && list[bare] || !known && anyNegation(bare)
}

func anyNegation(word string) bool {
	for _, list := range negations {
		if list[word] {
			return true
		}
	}
	return false
}

const (
	// phraseWords is how many words in a row make a quotation, and phraseContent how
	// many of them are more than grammar: "de lunes a viernes de" quotes nobody.
	phraseWords   = 5
	phraseContent = 3
)

// phrases hashes each run of five words of a text that says something.
func phrases(text string, a *analyse.Analyser) map[uint64]bool {
	words := wordsOf(text)
	all := make(map[uint64]bool, len(words))
	for i := 0; i+phraseWords <= len(words); i++ {
		run := words[i : i+phraseWords]
		content := 0
		for _, w := range run {
			if !a.Stop(w) {
				content++
			}
		}
		if content >= phraseContent {
			all[hashWords(run)] = true
		}
	}
	return all
}

// quotesPrompt tells whether a fact shares five words in a row with the agent's
// instructions.
func (a *admission) quotesPrompt(fact string) bool {
	for phrase := range phrases(fact, a.words) {
		if a.prompt[phrase] {
			return true
		}
	}
	return false
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(analyse.Fold(text), func(r rune) bool { return !isPart(r) })
}

// hashWords is FNV-1a over the words, each with its end.
func hashWords(words []string) uint64 {
	sum := uint64(14695981039346656037)
	for _, w := range words {
		for _, b := range []byte(w + " ") {
			sum = (sum ^ uint64(b)) * 1099511628211
		}
	}
	return sum
}
