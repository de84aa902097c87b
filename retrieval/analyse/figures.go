package analyse

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Figures returns the text folded, with every number that is said in words
// written in digits: "cuarenta y cinco cero uno" is "45 0 1", "double five" is
// "55". Words that only hold a dictation together ("guion", "dash") go where they
// stand between two numbers. A language that the analyser does not know keeps its
// words. It is for reading what numbers a text holds, not for showing.
func (a *Analyser) Figures(text string) string {
	said := pieces(Fold(text))
	var b strings.Builder
	lastNumber := false
	for i := 0; i < len(said); {
		digits, used := a.figure(said[i:])
		if used > 0 {
			b.WriteString(said[i].before)
			b.WriteString(digits)
			lastNumber = true
			i += used
			continue
		}
		if lastNumber && a.words.links[said[i].word] && i+1 < len(said) && a.opensFigure(said[i+1:]) {
			b.WriteByte(' ')
			said[i+1].before = ""
			i++
			continue
		}
		b.WriteString(said[i].before)
		b.WriteString(said[i].word)
		lastNumber = isDigits(said[i].word)
		i++
	}
	return b.String()
}

func (a *Analyser) opensFigure(said []piece) bool {
	_, used := a.figure(said)
	return used > 0 || isDigits(said[0].word)
}

// piece is a run of letters or of digits and what stands before it. The last
// piece of a text may have no word.
type piece struct{ before, word string }

func pieces(folded string) []piece {
	var list []piece
	start, wordAt, kind := 0, -1, 0
	end := func(at int) {
		if wordAt >= 0 {
			list = append(list, piece{folded[start:wordAt], folded[wordAt:at]})
			start, wordAt = at, -1
		}
	}
	for i, r := range folded {
		k := runKind(r)
		if k != kind {
			end(i)
		}
		if k != 0 && wordAt < 0 {
			wordAt = i
		}
		kind = k
	}
	end(len(folded))
	if start < len(folded) {
		list = append(list, piece{before: folded[start:]})
	}
	return list
}

func runKind(r rune) int {
	switch {
	case unicode.IsDigit(r):
		return digits
	case unicode.IsLetter(r):
		return letters
	}
	return 0
}

// joined tells whether a word goes on the number before it: nothing but a blank
// or a hyphen parts them.
func (p piece) joined() bool { return p.before == " " || p.before == "-" || p.before == "" }

// figure reads one spoken number at the head of a list and tells how many words
// it took, 0 when there is none.
func (a *Analyser) figure(said []piece) (digits string, used int) {
	if times := repeats[a.code][said[0].word]; times > 0 && len(said) > 1 {
		v, n := a.below(said[1:], 10)
		if n == 0 && len(said[1].word) == 1 && isDigits(said[1].word) {
			v, n = int(said[1].word[0]-'0'), 1
		}
		if n > 0 {
			return strings.Repeat(strconv.Itoa(v), times), n + 1
		}
	}
	v, n := a.below(said, 1000)
	thousand := slices.Contains(thousands[a.code], wordAt(said, n))
	switch {
	case n == 0 && thousand:
		v, n = 1000, 1
	case n > 0 && v > 0 && thousand:
		v, n = v*1000, n+1
	default:
		return strconv.Itoa(v), n
	}
	rest, m := a.linked(said, n, 1000)
	return strconv.Itoa(v + rest), n + m
}

// wordAt is the word at n if it goes on what is before it.
func wordAt(said []piece, n int) string {
	if n >= len(said) || n > 0 && !said[n].joined() {
		return ""
	}
	return said[n].word
}

// linked reads what follows a round number at place n: "y cinco", "and five".
func (a *Analyser) linked(said []piece, n, limit int) (value, used int) {
	skip := 0
	if slices.Contains(ands[a.code], wordAt(said, n)) {
		skip = 1
	}
	if wordAt(said, n+skip) == "" {
		return 0, 0
	}
	if v, m := a.below(said[n+skip:], limit); m > 0 && v > 0 {
		return v, m + skip
	}
	return 0, 0
}

// below reads a number under 10, 100 or 1000.
func (a *Analyser) below(said []piece, limit int) (value, used int) {
	v, ok := a.value(said[0].word)
	if !ok || v >= limit && v != 100 || v == 100 && limit < 1000 {
		return 0, 0
	}
	used = 1
	switch {
	case limit == 1000 && v > 0 && v < 10 && a.hundred(wordAt(said, 1)):
		v, used = v*100, 2
	case a.code == "fr" && v == 4 && limit > 10 && (wordAt(said, 1) == "vingt" || wordAt(said, 1) == "vingts"):
		v, used = 80, 2
	}
	rest, n := 0, 0
	switch {
	case v >= 100 && v%100 == 0:
		rest, n = a.linked(said, used, 100)
	case v >= 20 && v%10 == 0 && limit > 10:
		rest, n = a.unitAfter(said, used, v)
	}
	return v + rest, used + n
}

// unitAfter reads the unit after tens. Spanish and Portuguese need their "and":
// "treinta cinco" is two numbers.
func (a *Analyser) unitAfter(said []piece, n, tens int) (value, used int) {
	limit := 10
	if a.code == "fr" && (tens == 60 || tens == 80) {
		limit = 20
	}
	needs := a.code == "es" || a.code == "pt"
	if needs && !slices.Contains(ands[a.code], wordAt(said, n)) {
		return 0, 0
	}
	v, m := a.plain(said, n, limit)
	return v, m
}

// plain reads one word under a limit, above zero, past an "and".
func (a *Analyser) plain(said []piece, n, limit int) (value, used int) {
	skip := 0
	if slices.Contains(ands[a.code], wordAt(said, n)) {
		skip = 1
	}
	v, ok := a.value(wordAt(said, n+skip))
	if !ok || v == 0 || v >= limit {
		return 0, 0
	}
	if v == 10 && limit == 20 { // soixante-dix-sept
		if u, ok := a.value(wordAt(said, n+skip+1)); ok && u >= 7 && u < 10 {
			return v + u, skip + 2
		}
	}
	return v, skip + 1
}

func (a *Analyser) hundred(word string) bool { return slices.Contains(hundreds[a.code], word) }

// value is what one word counts.
func (a *Analyser) value(word string) (int, bool) {
	if v, ok := values[a.code][word]; ok {
		return v, true
	}
	if a.code == "de" {
		return germanNumber(word)
	}
	return 0, false
}

// germanNumber reads a compound under a thousand: zweihundertfünfunddreißig, folded.
func germanNumber(word string) (int, bool) {
	head, rest, ok := strings.Cut(word, "hundert")
	if !ok {
		return germanTens(word)
	}
	v := 1
	if head != "" {
		if v = values["de"][head]; head == "ein" {
			v = 1
		}
		if v < 1 || v > 9 {
			return 0, false
		}
	}
	if rest == "" {
		return v * 100, true
	}
	tail, ok := values["de"][strings.TrimPrefix(rest, "und")]
	if !ok {
		tail, ok = germanTens(rest)
	}
	return v*100 + tail, ok
}

func germanTens(word string) (int, bool) {
	unit, ten, ok := strings.Cut(word, "und")
	u, t := values["de"][unit], values["de"][ten]
	if unit == "ein" {
		u = 1
	}
	return t + u, ok && u > 0 && u < 10 && t >= 20
}
