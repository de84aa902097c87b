package deepgramtest

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Utterance is what one stretch of energy says.
type Utterance struct {
	Text string
	// Speech is how long the stretch is thought to last; words become known in
	// proportion to the part of it that was heard. 0 means 70 ms a character.
	Speech time.Duration
	// Words, when given, say when each word is spoken, from the stretch's
	// beginning. Text is then their texts joined, and need not be given.
	Words []Word
}

// Word is one spoken word. Its times count from the beginning of the stretch.
type Word struct {
	Word       string
	Start, End time.Duration
}

const perCharacter = 70 * time.Millisecond

// words gives each word its time: the script's, or its share by length.
func (u Utterance) words() []Word {
	if len(u.Words) > 0 {
		return u.Words
	}
	texts := strings.Fields(u.Text)
	letters := 0
	for _, text := range texts {
		letters += utf8.RuneCountInString(text)
	}
	speech := u.Speech
	if speech == 0 {
		speech = time.Duration(letters) * perCharacter
	}
	words, said := make([]Word, 0, len(texts)), 0
	for _, text := range texts {
		from := said
		said += utf8.RuneCountInString(text)
		words = append(words, Word{
			Word:  text,
			Start: speech * time.Duration(from) / time.Duration(letters),
			End:   speech * time.Duration(said) / time.Duration(letters),
		})
	}
	return words
}

// track is how far one call has come in the script. It outlives a connection
// that a fault broke: the next one goes on where the last final ended.
type track struct {
	script []Utterance
	repeat bool
	next   int           // the utterance that the present or next stretch says
	words  int           // words of it that are final
	heard  time.Duration // how much of it earlier finals covered

	overruns int // stretches for which the script had no text
}

// begin notes that a stretch begins.
func (t *track) begin() {
	if _, ok := t.utterance(); !ok {
		t.overruns++
	}
}

// utterance is what is being said; false when the script has no more.
func (t *track) utterance() (Utterance, bool) {
	if t.repeat && len(t.script) > 0 {
		return t.script[t.next%len(t.script)], true
	}
	if t.next >= len(t.script) {
		return Utterance{}, false
	}
	return t.script[t.next], true
}

// known are the words that are not final yet and whose end was heard, when so
// much of the stretch was heard on this connection. Their times count from where
// this connection took the stretch up.
func (t *track) known(heard time.Duration) []Word {
	words := t.rest()
	for n, w := range words {
		if w.End > heard {
			return words[:n]
		}
	}
	return words
}

// rest is all that is not final yet.
func (t *track) rest() []Word {
	u, _ := t.utterance()
	var rest []Word
	for _, w := range u.words()[t.words:] {
		rest = append(rest, Word{Word: w.Word, Start: max(0, w.Start-t.heard), End: max(0, w.End-t.heard)})
	}
	return rest
}

// freeze makes so many more words final, which end at heard.
func (t *track) freeze(words int, heard time.Duration) {
	t.words += words
	t.heard += heard
}

// finish goes on to the next utterance.
func (t *track) finish() { t.next, t.words, t.heard = t.next+1, 0, 0 }

func text(words []Word) string {
	texts := make([]string, len(words))
	for n, w := range words {
		texts[n] = w.Word
	}
	return strings.Join(texts, " ")
}
