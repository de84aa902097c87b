package turn

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Endpointing reads the text: silence after "quiero una cita para el" is a
// caller who thinks, silence after "¿a qué hora abren?" is one who waits. No
// model is asked; the rules are these, in this order.
//
//	ends in "?"                                         finished
//	ends in a comma, a colon, a dash or an ellipsis     unfinished
//	digits are being dictated and are too few           unfinished
//	the last word cannot end a sentence (an article,    unfinished
//	  a preposition, a conjunction, a possessive …)
//	anything else                                       finished
//
// A full stop proves nothing: recognisers set one at every pause.

// dangling are the words that no sentence ends with.
var dangling = map[string]map[string]bool{
	"es": words(`a al ante bajo con contra de del desde durante en entre hacia hasta mediante para por según sin sobre tras
		el la los las lo un una unos unas mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese esa esos esas aquel aquella
		y e o u ni que porque pero aunque si cuando como donde mientras pues sino cuyo cuya
		me te se nos le les muy más menos tan cada algún ningún cualquier es son era está están he ha han había quiero quería necesito puedo puede tengo tiene hay
		eh este-- o-sea`),
	"en": words(`a an the of to for with at by from in into on onto about over under between through during without within against toward towards upon
		and or but nor because although though if when while unless until since than that which who whose where whether as so
		my your his her its our their this these those some any every each no very more most too quite
		is are was were am be been being have has had do does did will would can could shall should may might must
		i'm i've i'd i'll we're you're they're it's i we they he she want need like um uh er`),
}

// ends are words of those lists that do end a sentence in some phrases of two.
var ends = map[string]map[string]bool{
	"es": words(`para-qué por-qué de-qué con-qué`),
	"en": words(`i-do i-am i-have i-did i-can i-would it-is they-are you-are we-are we-do i-was think-so look-for come-in go-on log-in sign-in hold-on call-on
		waiting-for looking-for pay-for that-is he-is she-is is-it do-you can-you are-you could-you i-will i-could i-should i-must i-want i-need`),
}

// dictated is how many digits may end a number that is read out group by group:
// a Spanish telephone number has nine, and so has no shorter thing that people
// dictate except what is said in one breath.
const (
	dictatedMin = 3
	dictatedMax = 9
)

// unfinished tells whether the caller's words sound as if more were to come.
func (s *state) unfinished(text string) bool {
	language := primary(s.cfg.Language)
	text = strings.TrimSpace(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	switch {
	case last == '?':
		return false
	case strings.HasSuffix(text, "...") || strings.ContainsRune(",:;-–—…", last):
		return true
	}
	all := spokenWords(text)
	if len(all) == 0 {
		return false
	}
	if n, only := dictatedDigits(all, language); only {
		return n >= dictatedMin && n < dictatedMax
	}
	word := all[len(all)-1]
	if !dangling[language][word] {
		return false
	}
	return len(all) < 2 || !ends[language][all[len(all)-2]+"-"+word]
}

// spokenWords are the words of a text, in lower case, without punctuation.
func spokenWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
}

// digitWords are how many digits each number word brings.
var digitWords = map[string]map[string]int{
	"es": counted(`cero uno una dos tres cuatro cinco seis siete ocho nueve doble`, `diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve`),
	"en": counted(`zero oh one two three four five six seven eight nine double`, `ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen`),
}

// dictatedDigits counts the digits of a text that is nothing but digits and the
// words of them.
func dictatedDigits(all []string, language string) (n int, only bool) {
	for _, w := range all {
		switch digits := digitWords[language][w]; {
		case digits > 0:
			n += digits
		case strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) < 0:
			n += len(w)
		default:
			return 0, false
		}
	}
	return n, true
}

// backchannels are what somebody says who listens: they stop no agent.
var backchannels = map[string]map[string]bool{
	"es": words(`ajá aja ya sí si vale claro mm mmm mhm hm hmm ah oh eh ok okay bien bueno uhum ujum entiendo entendido perfecto exacto`),
	"en": words(`mm mmm mhm hm hmm uh-huh uh huh yeah yes yep yup right sure ok okay ah oh aha i see got it good great fine exactly understood`),
}

// mostBackchannel is how many words a backchannel has at most: "sí, sí, vale".
const mostBackchannel = 3

// isBackchannel tells whether words only show that the caller listens.
func isBackchannel(text, language string) bool {
	all := spokenWords(text)
	if len(all) == 0 || len(all) > mostBackchannel {
		return false
	}
	for _, w := range all {
		if !backchannels[primary(language)][w] {
			return false
		}
	}
	return true
}

// primary is the language of a BCP 47 tag.
func primary(tag string) string {
	code, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return code
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// counted joins words of one digit with words of two.
func counted(one, two string) map[string]int {
	set := map[string]int{}
	for w := range strings.FieldsSeq(one) {
		set[w] = 1
	}
	for w := range strings.FieldsSeq(two) {
		set[w] = 2
	}
	return set
}
