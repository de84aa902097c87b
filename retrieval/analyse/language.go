package analyse

import (
	"embed"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/spanish"
)

// The stop lists are those of the Snowball project, folded and sorted: a folded
// question meets only folded stop words.
//
//go:embed stops/*.txt
var stopLists embed.FS

// language is what the analyser knows of one language. The zero value is Simple.
type language struct {
	stops map[string]bool // folded
	stem  func(string) string
	// possessive keeps an apostrophe inside a word until the stop list has seen
	// it (don't), and drops a final 's.
	possessive bool
}

var languages = map[string]language{
	"es": {stops: loadStops("es"), stem: snowball(spanish.Stem, spanishResidue)},
	"en": {stops: loadStops("en"), stem: snowball(english.Stem, nil), possessive: true},
	"pt": {stops: loadStops("pt"), stem: snowball(portuguese.Stem, portugueseResidue)},
	"fr": {stops: loadStops("fr"), stem: snowball(french.Stem, frenchResidue)},
	"de": {stops: loadStops("de"), stem: snowball(german.Stem, nil)},
	"it": {stops: loadStops("it"), stem: snowball(italian.Stem, italianResidue)},
}

// residue is what folding takes from a stemmer: a suffix that Snowball knows
// only with its accent. It is restored before stemming, so that the singular
// meets its plural: respiracion and respiraciones.
type residue struct{ plain, restored string }

// Only suffixes that mean one thing without their accent are here. The verb
// endings are not: volverá would be restored together with primera.
var (
	spanishResidue = []residue{
		{"acion", "ación"}, {"ucion", "ución"}, {"logias", "logías"}, {"logia", "logía"},
	}
	portugueseResidue = []residue{
		{"acoes", "ação"}, {"ucoes", "ução"}, {"acao", "ação"}, {"ucao", "ução"}, {"oes", "ão"},
		{"encias", "ências"}, {"encia", "ência"}, {"ancia", "ância"}, {"avel", "ável"}, {"ivel", "ível"},
	}
	frenchResidue  = []residue{{"ees", "es"}, {"ee", "e"}}
	italianResidue = []residue{{"ita", "ità"}}
)

// snowball returns a stemmer of folded words.
func snowball(stem func(*snowballstem.Env) bool, fix []residue) func(string) string {
	return func(word string) string {
		for _, f := range fix {
			if rest, ok := strings.CutSuffix(word, f.plain); ok {
				word = rest + f.restored
				break
			}
		}
		env := snowballstem.NewEnv(word)
		stem(env)
		return env.Current()
	}
}

// split parts a run of letters at its apostrophes: l'heure is l, heure.
func (l language) split(word string) []string {
	if !strings.Contains(word, "'") {
		return []string{word}
	}
	if l.possessive {
		if l.stops[word] {
			return nil
		}
		word = strings.TrimSuffix(word, "'s")
	}
	return strings.Split(word, "'")
}

// loadStops panics only when the binary was built without its stop lists.
func loadStops(code string) map[string]bool {
	text, err := stopLists.ReadFile("stops/" + code + ".txt")
	if err != nil {
		panic("read stop list " + code + ": " + err.Error())
	}
	stops := make(map[string]bool)
	for w := range strings.FieldsSeq(string(text)) {
		stops[w] = true
	}
	return stops
}
