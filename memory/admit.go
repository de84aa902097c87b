package memory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"headstart/retrieval/analyse"
)

const (
	// maxFact and maxQuote are the longest fact and quote that are kept, in runes.
	maxFact  = 300
	maxQuote = 300
	// alikeFrom is the part of their words that two facts share when they say the
	// same.
	alikeFrom = 0.8
)

// admission is what one lesson's proposals are held against.
type admission struct {
	Lesson
	words   *analyse.Analyser
	heard   map[string]bool // the content of all the caller's turns
	prompt  map[uint64]bool
	closed  map[string]bool // facts that this call has closed already
	changes []Change
}

// Admit decides, in code, which proposals become changes. It reads no clock and
// asks nobody: the same lesson and proposals give the same answer.
func (l Lesson) Admit(proposals []Proposal) Learned {
	a := &admission{Lesson: l, words: analyse.New(l.Language).Remembering(), heard: map[string]bool{}, closed: map[string]bool{}}
	a.prompt = phrases(l.Prompt, a.words)
	for _, s := range l.Turns {
		if !s.Agent {
			for _, w := range a.words.Content(s.Text) {
				a.heard[w] = true
			}
		}
	}
	learned := Learned{}
	for _, p := range proposals {
		if refusal := a.offer(p); refusal != nil {
			learned.Refused = append(learned.Refused, *refusal)
		}
	}
	learned.Writing = l.writing(a.changes)
	return learned
}

// offer takes a proposal or says why not.
func (a *admission) offer(p Proposal) *Refusal {
	p.Text = squeeze(p.Text)
	turn, said := a.turn(p.Turn)
	refuse := func(reason Reason, words string) *Refusal {
		r := &Refusal{Op: p.Op, Text: clip(p.Text, maxFact), Category: clip(p.Category, maxQuote), Reason: reason, Words: words}
		if said {
			r.Turn = turn.Turn
		}
		if reason == BecauseSecret || len(Secrets(r.Text+" "+r.Category, a.Language)) > 0 {
			r.Text, r.Category = Withheld, ""
			if reason != BecauseSecret {
				r.Words = "withheld, since it holds a secret besides"
			}
		}
		return r
	}
	old, found := a.held(p.Fact)
	switch {
	case p.malformed != "":
		return refuse(BecauseMalformed, p.malformed)
	case !said:
		return refuse(BecauseNoTurn, fmt.Sprintf("turn %d is none of the caller's", p.Turn))
	case p.Op != Add && !found:
		return refuse(BecauseNoFact, fmt.Sprintf("fact %d is not held", p.Fact))
	case p.Op == Invalidate:
		if !a.related(old, turn.Text) {
			return refuse(BecauseUnsupported, "the turn has no word of the fact that it would close")
		}
		a.close(p, turn, old)
		return nil
	}
	if reason, words := a.judge(&p, turn); reason != "" {
		return refuse(reason, words)
	}
	if p.Op == Update && !a.replaces(p, turn, old) {
		p.Op = Add // what it would close is about something else: that stays
	}
	if p.Op == Add {
		if f, ok := a.opposite(p.Text); ok { // whatever the model makes of it
			p.Op, old = Update, f
		}
	}
	if reason, words := a.again(p); reason != "" {
		if p.Op == Update && !a.alike(p.Text, old.Text) {
			a.close(p, turn, old) // what replaces it is held already
		}
		return refuse(reason, words)
	}
	if a.Room != nil && p.Op == Add && a.grown() >= *a.Room {
		return refuse(BecauseFull, "there is no room for more facts")
	}
	a.hold(p, turn, old)
	return nil
}

// turn is the turn of the caller with a number.
func (a *admission) turn(n int) (Said, bool) {
	if n < 1 || n > len(a.Turns) || a.Turns[n-1].Agent {
		return Said{}, false
	}
	return a.Turns[n-1], true
}

// held is the current fact with a number that nothing in this call has closed.
func (a *admission) held(n int) (Held, bool) {
	if n < 1 || n > len(a.Current) || a.closed[a.Current[n-1].ID] || !a.Current[n-1].Current() {
		return Held{}, false
	}
	return a.Current[n-1], true
}

// judge looks at the fact itself. It writes the category as the policy spells it.
func (a *admission) judge(p *Proposal, turn Said) (Reason, string) {
	switch n := len([]rune(p.Text)); {
	case len(a.words.Terms(p.Text)) == 0 && !strings.ContainsFunc(p.Text, unicode.IsDigit):
		return BecauseMalformed, "its text says nothing"
	case n > maxFact:
		return BecauseMalformed, fmt.Sprintf("its text has %d runes, at most %d", n, maxFact)
	}
	if kinds := Secrets(p.Text, a.Language); len(kinds) > 0 {
		return BecauseSecret, fmt.Sprintf("it holds a %s", kinds[0])
	}
	if reason, words := a.policy(p); reason != "" {
		return reason, words
	}
	if tool, ok := namesTool(p.Text, a.Tools); ok {
		return BecauseTool, "it names the tool " + tool
	}
	if words, ok := Instruction(p.Text); ok {
		return BecauseInstruction, fmt.Sprintf("it reads like an instruction to an agent: %q", words)
	}
	if a.quotesPrompt(p.Text) {
		return BecausePrompt, "it repeats the agent's own instructions"
	}
	return a.supported(p.Text, turn.Text)
}

// policy keeps what is to be remembered and nothing that is to be forgotten.
func (a *admission) policy(p *Proposal) (Reason, string) {
	for _, name := range a.Policy.Forget {
		if sameName(name, p.Category) || a.mentions(p.Text, name) {
			return BecauseForget, fmt.Sprintf("the policy forgets %q", name)
		}
	}
	for _, name := range a.Policy.Remember {
		if sameName(name, p.Category) {
			p.Category = name
			return "", ""
		}
	}
	return BecauseCategory, fmt.Sprintf("the policy does not remember %q", clip(p.Category, 40))
}

// sameName compares names with accents dropped, case folded, and spaces,
// underscores and hyphens squeezed.
func sameName(a, b string) bool { return nameOf(a) == nameOf(b) && nameOf(a) != "" }

func nameOf(s string) string {
	return strings.Join(strings.FieldsFunc(analyse.Fold(s), func(r rune) bool {
		return unicode.IsSpace(r) || r == '_' || r == '-'
	}), " ")
}

// mentions tells whether a text has every word of a name of the policy.
func (a *admission) mentions(text, name string) bool {
	terms := a.words.Terms(nameOf(name))
	if len(terms) == 0 {
		return false
	}
	in := set(a.words.Terms(text))
	return !slices.ContainsFunc(terms, func(t string) bool { return !in[t] })
}

// related tells whether a turn speaks of a fact: it shares a word or a number.
func (a *admission) related(old Held, text string) bool {
	in := set(a.words.Content(text))
	if slices.ContainsFunc(a.words.Content(old.Text), func(w string) bool { return in[w] }) {
		return true
	}
	numbers := a.numbers(text)
	return slices.ContainsFunc(a.numbers(old.Text), func(n string) bool { return slices.Contains(numbers, n) })
}

// replaces tells whether a new fact may close an old one: it is of its kind, or
// speaks of the same.
func (a *admission) replaces(p Proposal, turn Said, old Held) bool {
	return sameName(p.Category, old.Category) || a.related(old, p.Text) || a.related(old, turn.Text)
}

// again refuses what is held already, by the contact or by this call.
func (a *admission) again(p Proposal) (Reason, string) {
	for _, f := range a.Current {
		if f.Current() && !a.closed[f.ID] && a.alike(p.Text, f.Text) {
			return BecauseDuplicate, "it is held already"
		}
	}
	for _, c := range a.changes {
		if c.Op != Invalidate && a.alike(p.Text, c.Fact.Text) {
			return BecauseDuplicate, "the call has taught it already"
		}
	}
	return "", ""
}

// opposite is the current fact that says yes where a text says no, or no where it
// says yes, in the same words.
func (a *admission) opposite(text string) (Held, bool) {
	for _, f := range a.Current {
		if f.Current() && !a.closed[f.ID] && a.negates(f.Text) != a.negates(text) && a.sameWords(f.Text, text) {
			return f, true
		}
	}
	return Held{}, false
}

// alike holds for nearly the same words with the same numbers and the same yes or no.
func (a *admission) alike(x, y string) bool {
	return a.negates(x) == a.negates(y) && a.sameWords(x, y)
}

// sameWords leaves the yes and the no out.
func (a *admission) sameWords(x, y string) bool {
	if !slices.Equal(a.numbers(x), a.numbers(y)) {
		return false
	}
	p, q := set(a.words.Terms(a.words.Figures(a.affirmed(x)))), set(a.words.Terms(a.words.Figures(a.affirmed(y))))
	shared := 0
	for w := range p {
		if q[w] {
			shared++
		}
	}
	return float64(shared) >= alikeFrom*float64(len(p)+len(q)-shared) && shared > 0
}

// grown is how many facts more the contact holds by the changes so far.
func (a *admission) grown() int {
	n := 0
	for _, c := range a.changes {
		switch c.Op {
		case Add:
			n++
		case Invalidate:
			n--
		}
	}
	return n
}

func (a *admission) close(p Proposal, turn Said, old Held) {
	a.closed[old.ID] = true
	a.changes = append(a.changes, Change{Op: Invalidate, Closes: old.ID, Fact: Held{
		Org: a.Org, Contact: a.Contact, Quote: a.quote(p, turn, old.Text), Turn: turn.Turn,
	}})
}

func (a *admission) hold(p Proposal, turn Said, old Held) {
	c := Change{Op: p.Op, Fact: Held{
		Fact: Fact{
			ID: FactID(a.Org, a.Contact, a.Call, len(a.changes)), Text: p.Text, Category: p.Category,
			Source: a.Call, Since: a.At, Confidence: p.Confidence,
		},
		Org: a.Org, Contact: a.Contact, Quote: a.quote(p, turn, p.Text), Turn: turn.Turn,
	}}
	if p.Op == Update {
		c.Closes = old.ID
		a.closed[old.ID] = true
	}
	a.changes = append(a.changes, c)
}

// quote is what the model quoted if the turn has it, else the part of the turn that
// is nearest to the fact. Words that may not be kept are no quote.
func (a *admission) quote(p Proposal, turn Said, fact string) string {
	quote, said := squeeze(p.Quote), squeeze(turn.Text)
	if quote == "" || !strings.Contains(analyse.Fold(said), analyse.Fold(quote)) {
		quote = squeeze(a.nearest(fact, said)[0])
	}
	quote = clip(quote, maxQuote)
	if len(Secrets(quote, a.Language)) > 0 ||
		slices.ContainsFunc(a.Policy.Forget, func(name string) bool { return a.mentions(quote, name) }) {
		return ""
	}
	return quote
}

// squeeze makes one line of a text, without control and invisible runes.
func squeeze(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))), " ")
}

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
