package tts

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Speakable returns what a voice should be given of a text that a model wrote:
// the words without the marks. Emphasis, headings, bullets, quotes, code marks
// and HTML tags go, a link becomes its text, a bare address its host, a table
// row its cells; emoji go. A line that ends without punctuation gets a full
// stop, so that the voice pauses there. It is pure.
func Speakable(text string) string {
	text = strings.ToValidUTF8(text, "")
	if plain(text) {
		return strings.TrimSpace(text)
	}
	var out []string
	for line := range strings.Lines(text) {
		if line = spokenLine(strings.TrimSpace(line)); line != "" {
			out = append(out, line)
		}
	}
	for i := range len(out) - 1 {
		out[i] = endLine(out[i])
	}
	return strings.Join(out, " ")
}

// plain tells a text that needs no cleaning, as most sentences do.
func plain(text string) bool {
	if strings.Contains(strings.ToLower(text), "www.") {
		return false
	}
	previous := ' '
	for _, r := range text {
		marks := strings.ContainsRune("*_`~#|<>[]{}\\&/@=+-•›→\n\r\t", r)
		if marks || unmarked(r) != r || (r == ' ' && previous == ' ') {
			return false
		}
		previous = r
	}
	return true
}

var (
	ruleLine     = regexp.MustCompile(`^(?:[-*_=]\s*){3,}$|^\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?$`)
	fenceLine    = regexp.MustCompile("^(?:```|~~~)[\\w+-]*\\s*$")
	headingMark  = regexp.MustCompile(`^#{1,6}(?:\s+|$)`)
	headingTail  = regexp.MustCompile(`\s+#+$`)
	quoteMark    = regexp.MustCompile(`^(?:>\s?)+`)
	bulletMark   = regexp.MustCompile(`^(?:[-*+•·‣▪◦–—]\s+)+`)
	taskMark     = regexp.MustCompile(`^\[[ xX]\]\s+`)
	linkOrImage  = regexp.MustCompile(`!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()]|\([^()]*\))*\)`)
	referenced   = regexp.MustCompile(`!?\[([^\[\]]+)\]\[[^\[\]]*\]`)
	definition   = regexp.MustCompile(`^\[[^\[\]]+\]:\s+\S+.*$`)
	footnote     = regexp.MustCompile(`\[\^[^\[\]]*\]`)
	address      = regexp.MustCompile(`(?i)<?\b(?:[a-z][a-z0-9+.-]*://|www\.|mailto:)[^\s<>"'|\x60*]+>?`)
	tag          = regexp.MustCompile(`</?[a-zA-Z][^<>]*>|<!--.*?-->`)
	escaped      = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
	times        = regexp.MustCompile(`(\d)\s*[*×]\s*(\d)`)
	spaces       = regexp.MustCompile(`\s+`)
	looseStop    = regexp.MustCompile(` +([.,;:!?…]+(?:\s|$))`)
	doubledComma = regexp.MustCompile(`,(?:\s*,)+|([.:;!?…])\s*,`)
	leadingStop  = regexp.MustCompile(`^[\s,;]+`)
)

// spokenLine cleans one line.
func spokenLine(line string) string {
	if ruleLine.MatchString(line) || fenceLine.MatchString(line) || definition.MatchString(line) {
		return ""
	}
	line = blockMarks(line)
	line = withoutUnderscores(inlineMarks(line))
	line = strings.Map(unmarked, line)
	line = spaces.ReplaceAllString(line, " ")
	line = looseStop.ReplaceAllString(line, "$1")
	line = doubledComma.ReplaceAllStringFunc(line, firstMark)
	line = leadingStop.ReplaceAllString(line, "")
	return strings.TrimSpace(line)
}

// firstMark keeps the first of several stops.
func firstMark(marks string) string {
	_, size := utf8.DecodeRuneInString(marks)
	return marks[:size]
}

func blockMarks(line string) string {
	line = quoteMark.ReplaceAllString(line, "")
	line = bulletMark.ReplaceAllString(line, "")
	line = taskMark.ReplaceAllString(line, "")
	if headingMark.MatchString(line) {
		line = headingTail.ReplaceAllString(headingMark.ReplaceAllString(line, ""), "")
	}
	if strings.HasPrefix(line, "|") {
		return cells(line)
	}
	return line
}

// cells says a table row as a list.
func cells(row string) string {
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(row, "|"), "|") {
		if cell = strings.TrimSpace(cell); cell != "" {
			out = append(out, cell)
		}
	}
	return strings.Join(out, ", ")
}

func inlineMarks(line string) string {
	line = linkOrImage.ReplaceAllString(line, "$1")
	line = referenced.ReplaceAllString(line, "$1")
	line = footnote.ReplaceAllString(line, "")
	line = address.ReplaceAllStringFunc(line, host)
	line = tag.ReplaceAllString(line, " ")
	line = html.UnescapeString(line)
	line = escaped.ReplaceAllString(line, "$1")
	line = times.ReplaceAllString(line, "$1 x $2")
	line = strings.NewReplacer("**", "", "__", "", "~~", "", "==", "", "://", " ").Replace(line)
	return line
}

// host is what is said of an address: its host, as people say it. The stop
// after an address is the sentence's own.
func host(raw string) string {
	bare := strings.Trim(raw, "<>")
	kept := strings.TrimRight(bare, ".,;:!?…)]}»”’")
	stop := bare[len(kept):]
	if rest, ok := strings.CutPrefix(strings.ToLower(kept), "mailto:"); ok {
		return rest + stop
	}
	if !strings.Contains(kept, "://") {
		kept = "https://" + kept
	}
	u, err := url.Parse(kept)
	if err != nil {
		return stop
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") + stop
}

// unmarked is what is left of a rune once lines and spans are clean: marks that
// no construct explained would be read out by name.
func unmarked(r rune) rune {
	switch r {
	case '*', '`', '[', ']', '\u200b', '\u200d', '\ufeff', '\u20e3', '\u00ad':
		return -1
	case '|', '\u00a0', '\u202f':
		return ' '
	case '•', '·', '›':
		return ','
	case '°', '№':
		return r
	}
	return symbol(r)
}

// symbol drops emoji and what modifies them, and makes an arrow a pause.
func symbol(r rune) rune {
	switch {
	case r >= 0x2190 && r <= 0x21ff, r >= 0x27f0 && r <= 0x27ff:
		return ','
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0x1f3fb && r <= 0x1f3ff, r >= 0xe0000 && r <= 0xe007f:
		return -1
	case unicode.Is(unicode.So, r), unicode.Is(unicode.Co, r):
		return -1
	case unicode.IsControl(r):
		return ' '
	}
	return r
}

// withoutUnderscores drops the marks of emphasis and parts snake_case.
func withoutUnderscores(line string) string {
	if !strings.Contains(line, "_") {
		return line
	}
	out := make([]byte, 0, len(line))
	for i := range len(line) {
		inside := i > 0 && i < len(line)-1 && isAlnum(line[i-1]) && isAlnum(line[i+1])
		switch {
		case line[i] != '_':
			out = append(out, line[i])
		case inside:
			out = append(out, ' ')
		}
	}
	return string(out)
}

// endLine gives a line without one a full stop.
func endLine(line string) string {
	last := strings.TrimRight(line, `"'”»’)`)
	r, _ := utf8.DecodeLastRuneInString(last)
	if last == "" || strings.ContainsRune(".!?…,;:", r) {
		return line
	}
	return line + "."
}
