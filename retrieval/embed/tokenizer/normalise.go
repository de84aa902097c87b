package tokenizer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normaliser rewrites a text before it is split.
type normaliser func(string) string

func same(text string) string { return text }

// simple are the normalisers without options.
var simple = map[string]normaliser{
	"NFC":          norm.NFC.String,
	"NFD":          norm.NFD.String,
	"NFKC":         norm.NFKC.String,
	"NFKD":         norm.NFKD.String,
	"Lowercase":    lower,
	"StripAccents": func(s string) string { return without(s, unicode.M) },
	"Nmt":          nmt,
}

// rewriting are the options of every normaliser that has some.
type rewriting struct {
	Normalisers []json.RawMessage `json:"normalizers"`

	CleanText    *bool `json:"clean_text"`
	ChineseChars *bool `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"`
	Lowercase    *bool `json:"lowercase"`
	StripLeft    bool  `json:"strip_left"`
	StripRight   bool  `json:"strip_right"`
	Prepend      string
	Pattern      pattern
	Content      string
	Charsmap     *[]byte `json:"precompiled_charsmap"` // base64
}

func readNormaliser(text json.RawMessage) (normaliser, error) {
	if absent(text) {
		return same, nil
	}
	k, err := kind(text)
	var o rewriting
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("read normalizer %s: %w", k, err)
	}
	if n, ok := simple[k]; ok {
		return n, nil
	}
	n, err := o.normaliser(k)
	if err != nil {
		return nil, fmt.Errorf("read normalizer %s: %w", k, err)
	}
	return n, nil
}

func (o rewriting) normaliser(kind string) (normaliser, error) {
	switch kind {
	case "Sequence":
		return readNormalisers(o.Normalisers)
	case "BertNormalizer":
		return o.bert(), nil
	case "Strip":
		return o.strip, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return o.Prepend + s
		}, nil
	case "Replace":
		re, err := o.Pattern.compile()
		if err != nil {
			return nil, err
		}
		return replacer(re, o.Pattern, o.Content), nil
	case "Precompiled":
		if o.Charsmap == nil || len(*o.Charsmap) == 0 {
			return same, nil
		}
		m, err := readCharsmap(*o.Charsmap)
		if err != nil {
			return nil, err
		}
		return m.normalise, nil
	}
	return nil, errUnknown
}

func readNormalisers(list []json.RawMessage) (normaliser, error) {
	var all []normaliser
	for _, text := range list {
		n, err := readNormaliser(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return func(s string) string {
		for _, n := range all {
			s = n(s)
		}
		return s
	}, nil
}

func replacer(re *regexp.Regexp, p pattern, content string) normaliser {
	if p.String != nil {
		old := *p.String
		return func(s string) string { return strings.ReplaceAll(s, old, content) }
	}
	return func(s string) string { return re.ReplaceAllLiteralString(s, content) }
}

func (o rewriting) strip(s string) string {
	if o.StripLeft {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	if o.StripRight {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
	}
	return s
}

// bert is the normaliser of BERT. Where strip_accents is not said, a model that
// lowers letters strips their accents too.
func (o rewriting) bert() normaliser {
	or := func(b *bool, otherwise bool) bool {
		if b == nil {
			return otherwise
		}
		return *b
	}
	lowers := or(o.Lowercase, true)
	cleans, chinese, strips := or(o.CleanText, true), or(o.ChineseChars, true), or(o.StripAccents, lowers)
	return func(s string) string {
		if cleans {
			s = clean(s)
		}
		if chinese {
			s = spaceIdeographs(s)
		}
		if strips {
			s = without(norm.NFD.String(s), unicode.Mn)
		}
		if lowers {
			s = lower(s)
		}
		return s
	}
}

// clean drops what cannot be seen and makes each blank a space.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f:
			return r
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == 0 || r == '\ufffd' || unicode.Is(unicode.C, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
}

func without(s string, table *unicode.RangeTable) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && unicode.Is(table, r) {
			return -1
		}
		return r
	}, s)
}

// lower lowers letter by letter, without regard to where in a word they stand.
func lower(s string) string {
	if strings.ContainsRune(s, 'İ') { // the one letter that becomes two
		s = strings.ReplaceAll(s, "İ", "i\u0307")
	}
	return strings.Map(unicode.ToLower, s)
}

// ideographs are the blocks whose letters BERT takes for words of their own.
var ideographs = [][2]rune{
	{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
	{0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
}

func ideograph(r rune) bool {
	if r < 0x3400 {
		return false
	}
	for _, b := range ideographs {
		if r >= b[0] && r <= b[1] {
			return true
		}
	}
	return false
}

func spaceIdeographs(s string) string {
	if strings.IndexFunc(s, ideograph) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if ideograph(r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// nmt is SentencePiece's cleaning of control characters and blanks.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x01 && r <= 0x08, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return -1
		case r == 0x09, r == 0x0A, r == 0x0C, r == 0x0D, r == 0x1680, r >= 0x200B && r <= 0x200F,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return ' '
		}
		return r
	}, s)
}
