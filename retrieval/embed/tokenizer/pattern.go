package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// errUnknown says that a part of the file is of a type that is not read.
var errUnknown = errors.New("type is not known")

// pattern is what a part of the file looks for: a text as it stands, or a
// regular expression.
type pattern struct {
	String *string
	Regex  *string
}

// compile makes a regular expression of either.
func (p pattern) compile() (*regexp.Regexp, error) {
	switch {
	case p.String != nil && *p.String != "":
		return regexp.Compile(regexp.QuoteMeta(*p.String))
	case p.Regex != nil:
		re, err := regexp.Compile(translate(*p.Regex))
		if err != nil {
			return nil, fmt.Errorf("read pattern %q: %w", *p.Regex, err)
		}
		return re, nil
	}
	return nil, errors.New("pattern is empty")
}

// classes are those that know only ASCII here and all of Unicode where the files
// are made; as they stand within brackets.
var classes = map[byte]string{
	's': `\t\n\v\f\r\x{85}\p{Z}`,
	'd': `\p{Nd}`,
	'w': `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`,
}

// translate widens the classes of a pattern. Those that are negated inside
// brackets stay as they are: there is no way to write them.
func translate(text string) string {
	var out strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			inside = c == '[' || inside && c != ']'
			out.WriteByte(c)
			continue
		}
		i++
		class, ok := classes[text[i]|0x20]
		negated := text[i]&0x20 == 0
		switch {
		case ok && inside && !negated:
			out.WriteString(class)
		case ok && !inside && negated:
			out.WriteString("[^" + class + "]")
		case ok && !inside:
			out.WriteString("[" + class + "]")
		default:
			out.WriteString(text[i-1 : i+1])
		}
	}
	return out.String()
}
