package analyse

import "slices"

// pointers are what a caller says to point back at what was said before. All folded.
type pointers struct {
	anywhere map[string]bool // one word each, wherever it stands
	first    map[string]bool // only as the first word of a question
	pairs    map[string]bool // two words that follow one another
}

// back lists them in each language. Words that mostly mean something else are
// left out: "este mes" and "esta abierto" point at nothing that was said, and "also"
// begins a new question as often as it carries one on.
var back = map[string]pointers{
	"es": {
		anywhere: set(`eso esa ese esos esas esto aquello aquel aquella aquellos aquellas ello ellos ellas mismo misma
			mismos mismas ahi alli otro otra otros otras cuales`),
		first: set(`y e o u pero entonces ademas lo le les`),
		pairs: set2(`para el, para ella, con el, con ella, de el, de ella, lo anterior, el anterior, la anterior,
			lo puedo, lo puede, lo tengo, lo tienen, lo cubre, lo aceptan, la cubre, la aceptan, los aceptan, las aceptan`),
	},
	"en": {
		anywhere: set(`it its that those them they their theirs he him his she her hers same both another previous`),
		first:    set(`and but or so then`),
		pairs:    set2(`what about, how about, with this, for this, of this, this one, and there, the other, do so`),
	},
}

// PointsBack reports whether a question leans on what was said before it, by a
// table of words for Spanish and English: "¿y eso cuánto cuesta?", "how long does
// it take?". Courtesy before the first word is passed over. In another language
// no question does.
func (a *Analyser) PointsBack(text string) bool {
	words := back[a.code]
	said := a.said(text)
	opened := false
	return slices.ContainsFunc(said, func(w saidWord) bool {
		opening := !opened
		opened = opened || !a.words.fillers[w.text]
		return words.anywhere[w.text] || opening && words.first[w.text]
	}) || a.pairBack(said)
}

func (a *Analyser) pairBack(said []saidWord) bool {
	for i := 1; i < len(said); i++ {
		if back[a.code].pairs[said[i-1].text+" "+said[i].text] {
			return true
		}
	}
	return false
}
