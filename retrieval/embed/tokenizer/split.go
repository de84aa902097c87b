package tokenizer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a text; start says that the text begins with it.
type piece struct {
	text  string
	start bool
}

// splitter parts pieces into words.
type splitter func([]piece) []piece

// splitting are the options of every splitter that has some.
type splitting struct {
	PreTokenisers []json.RawMessage `json:"pretokenizers"`

	Replacement    *string `json:"replacement"`
	AddPrefixSpace *bool   `json:"add_prefix_space"`
	PrependScheme  string  `json:"prepend_scheme"`
	Split          *bool   `json:"split"`

	Behaviour        string `json:"behavior"`
	Pattern          pattern
	Invert           bool `json:"invert"`
	IndividualDigits bool `json:"individual_digits"`
}

func readSplitter(text json.RawMessage) (splitter, error) {
	if absent(text) {
		return func(p []piece) []piece { return p }, nil
	}
	k, err := kind(text)
	var o splitting
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("read pre_tokenizer %s: %w", k, err)
	}
	s, err := o.splitter(k)
	if err != nil {
		return nil, fmt.Errorf("read pre_tokenizer %s: %w", k, err)
	}
	return s, nil
}

// words are what the splitter Whitespace tells apart.
var words = regexp.MustCompile(translate(`\w+|[^\w\s]+`))

func (o splitting) splitter(kind string) (splitter, error) {
	switch kind {
	case "Sequence":
		return readSplitters(o.PreTokenisers)
	case "BertPreTokenizer":
		return each(bertWords), nil
	case "Whitespace":
		return each(func(s string) []string { return words.FindAllString(s, -1) }), nil
	case "WhitespaceSplit":
		return each(strings.Fields), nil
	case "Metaspace":
		return o.metaspace()
	case "Digits":
		behaviour := "Contiguous"
		if o.IndividualDigits {
			behaviour = "Isolated"
		}
		return spans(func(s string) [][]int { return runes(s, unicode.IsNumber) }, behaviour)
	case "Punctuation":
		return spans(func(s string) [][]int { return runes(s, punctuation) }, o.Behaviour)
	case "Split":
		re, err := o.Pattern.compile()
		if err != nil {
			return nil, err
		}
		find := func(s string) [][]int { return re.FindAllStringIndex(s, -1) }
		if o.Invert {
			find = func(s string) [][]int { return between(re.FindAllStringIndex(s, -1), len(s)) }
		}
		return spans(find, o.Behaviour)
	}
	return nil, errUnknown
}

func readSplitters(list []json.RawMessage) (splitter, error) {
	var all []splitter
	for _, text := range list {
		s, err := readSplitter(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return func(pieces []piece) []piece {
		for _, s := range all {
			pieces = s(pieces)
		}
		return pieces
	}, nil
}

// each splits one piece after the other, and drops what is empty.
func each(split func(string) []string) splitter {
	return func(pieces []piece) []piece {
		out := make([]piece, 0, len(pieces))
		for _, p := range pieces {
			start := p.start
			for _, s := range split(p.text) {
				if s != "" {
					out = append(out, piece{s, start && strings.HasPrefix(p.text, s)})
				}
				start = false
			}
		}
		return out
	}
}

// punctuation is what BERT takes for it.
func punctuation(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7f && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	return unicode.IsPunct(r)
}

// bertWords parts at blanks, which it drops, and at punctuation, which it keeps.
func bertWords(s string) []string {
	var out []string
	from := 0
	for at, r := range s {
		blank := unicode.IsSpace(r)
		if !blank && !punctuation(r) {
			continue
		}
		end := at + utf8.RuneLen(r)
		out = append(out, s[from:at])
		if !blank {
			out = append(out, s[at:end])
		}
		from = end
	}
	return append(out, s[from:])
}

// metaspace writes blanks as a letter of their own, "▁", which begins a word.
func (o splitting) metaspace() (splitter, error) {
	mark := "▁"
	if o.Replacement != nil {
		mark = *o.Replacement
	}
	if mark == "" {
		return nil, fmt.Errorf("replacement is empty")
	}
	scheme := o.PrependScheme
	if scheme == "" {
		scheme = "always"
		if o.AddPrefixSpace != nil && !*o.AddPrefixSpace {
			scheme = "never"
		}
	}
	parts := o.Split == nil || *o.Split
	return func(pieces []piece) []piece {
		var out []piece
		for _, p := range pieces {
			p.text = strings.ReplaceAll(p.text, " ", mark)
			if (scheme == "always" || scheme == "first" && p.start) && !strings.HasPrefix(p.text, mark) {
				p.text = mark + p.text
			}
			if !parts {
				out = append(out, p)
				continue
			}
			out = p.before(out, mark)
		}
		return out
	}, nil
}

// before appends the parts of p, each beginning with mark.
func (p piece) before(out []piece, mark string) []piece {
	for p.text != "" {
		next := strings.Index(p.text[1:], mark) + 1
		if next == 0 {
			next = len(p.text)
		}
		out = append(out, piece{p.text[:next], p.start})
		p = piece{p.text[next:], false}
	}
	return out
}

// runes are the places of the letters that match.
func runes(s string, match func(rune) bool) [][]int {
	var out [][]int
	for at, r := range s {
		if match(r) {
			out = append(out, []int{at, at + utf8.RuneLen(r)})
		}
	}
	return out
}

// between are the places that matches leave.
func between(matches [][]int, length int) [][]int {
	var out [][]int
	from := 0
	for _, m := range append(matches, []int{length, length}) {
		if m[0] > from {
			out = append(out, []int{from, m[0]})
		}
		from = m[1]
	}
	return out
}

// spans splits at what find tells; the behaviour says what becomes of that.
func spans(find func(string) [][]int, behaviour string) (splitter, error) {
	switch behaviour {
	case "":
		behaviour = "Isolated"
	case "Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext":
	default:
		return nil, fmt.Errorf("behavior %q is not known", behaviour)
	}
	return each(func(s string) []string { return cutAt(s, find(s), behaviour) }), nil
}

func cutAt(s string, matches [][]int, behaviour string) []string {
	var out []string
	from := 0 // where what is not yet in out begins
	for i, m := range matches {
		start, end := m[0], m[1]
		switch behaviour {
		case "Removed":
			out, from = append(out, s[from:start]), end
		case "Isolated":
			out, from = append(out, s[from:start], s[start:end]), end
		case "MergedWithPrevious":
			out, from = append(out, s[from:end]), end
		case "MergedWithNext":
			out, from = append(out, s[from:start]), start
		case "Contiguous":
			if i > 0 && matches[i-1][1] == start && from < start {
				start = from
			}
			if i+1 < len(matches) && matches[i+1][0] == end {
				out, from = append(out, s[from:start]), start
			} else {
				out, from = append(out, s[from:start], s[start:end]), end
			}
		}
	}
	return append(out, s[from:])
}
