package embed

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands where something was masked. None holds a digit, so that masking
// never brings two runs together.
const (
	maskedNumber = "[number]"
	maskedEmail  = "[email]"
	maskedIBAN   = "[iban]"
)

const (
	// longRun is the shortest run of digits that is masked.
	longRun = 6
	// longGroups is how many digits make a run that is written in groups: a
	// telephone number has nine, a date and a price in millions have fewer.
	longGroups = 9
	// ibanDigits make an IBAN of what is written like one: words do not hold as
	// many. What holds fewer is one when its check digits are right.
	ibanDigits = 8
)

var (
	email = regexp.MustCompile(`[\p{L}\p{M}\p{N}._%+'-]+\s?@\s?[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)+`)
	iban  = regexp.MustCompile(`(?i)\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?:[ \x{00A0}.-][A-Z0-9]{4}){2,7}(?:[ \x{00A0}.-][A-Z0-9]{1,3})?)\b`)
	// spoken is an address as it is heard, and not yet written with signs.
	spoken = regexp.MustCompile(`(?i)[\p{L}\p{M}\p{N}._%+'-]+ (?:arroba [\p{L}\p{M}\p{N}-]+(?:(?: punto |\.)[\p{L}\p{M}\p{N}-]+)+|at [\p{L}\p{M}\p{N}-]+(?:(?: dot )[\p{L}\p{M}\p{N}-]+)+)`)
	dates  = [...]*regexp.Regexp{
		regexp.MustCompile(`^(?:0?[1-9]|[12][0-9]|3[01])(?:-(?:0?[1-9]|1[0-2])-|/(?:0?[1-9]|1[0-2])/|\.(?:0?[1-9]|1[0-2])\.)(?:19|20)[0-9]{2}`),
		regexp.MustCompile(`^(?:19|20)[0-9]{2}(?:-(?:0[1-9]|1[0-2])-|/(?:0[1-9]|1[0-2])/)(?:0[1-9]|[12][0-9]|3[01])`),
	}
)

// Mask is the copy of a text that a remote embedder sees: e-mail addresses,
// IBANs and runs of six or more digits are replaced. A run may be written in
// groups that spaces, dots, hyphens, slashes, brackets and the commas of speech
// part; then nine digits make it. Dates, prices and opening hours stay findable,
// but for lists of them without a word between: the words keep those.
func Mask(text string) string {
	masked := mask(text)
	if masked == text {
		return text
	}
	return mask(masked) // what touched something else stands alone now
}

func mask(text string) string {
	if strings.Contains(text, "@") {
		text = email.ReplaceAllLiteralString(text, maskedEmail)
	}
	text = spoken.ReplaceAllLiteralString(text, maskedEmail)
	text = iban.ReplaceAllStringFunc(text, maskIBAN)
	return maskNumbers(text)
}

func maskIBAN(text string) string {
	digits := 0
	for _, r := range text {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if digits >= ibanDigits || checks(text) {
		return maskedIBAN
	}
	return text
}

// checks is ISO 7064's MOD 97-10, as an IBAN uses it: its first four characters
// at the end, letters as 10 to 35, leaves 1.
func checks(text string) bool {
	var plain []byte
	for _, c := range []byte(strings.ToUpper(text)) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
			plain = append(plain, c)
		}
	}
	var number strings.Builder
	for _, c := range append(plain[4:], plain[:4]...) {
		if c >= 'A' {
			number.WriteByte('1' + (c-'A')/10)
			c = '0' + (c-'A')%10
		}
		number.WriteByte(c)
	}
	n, ok := new(big.Int).SetString(number.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}

func maskNumbers(text string) string {
	var out strings.Builder
	kept := 0 // up to where text is in out
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsDigit(r) {
			at += size
			continue
		}
		end, masked := number(text[at:])
		if masked {
			out.WriteString(text[kept:at])
			out.WriteString(maskedNumber)
			kept = at + end
		}
		at += end
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// number is the number at the beginning of text: where it ends, and whether it
// is long enough to be masked. Of a number in groups that is too short, only the
// first group is told, for the next may begin a longer one. A date is no number,
// and parts two of them.
func number(text string) (end int, masked bool) {
	if length := date(text); length > 0 {
		return length, false
	}
	first, alone := run(text)
	end, digits := first, alone
	for {
		size := groupBreak(text[end:])
		length, more := run(text[end+size:])
		if size == 0 || more == 0 || date(text[end+size:]) > 0 {
			break
		}
		end, digits = end+size+length, digits+more
	}
	if digits >= longGroups {
		return end, true
	}
	return first, alone >= longRun
}

// date is the length of the date that text begins with; 0 is none.
func date(text string) int {
	for _, form := range dates {
		length := len(form.FindString(text))
		if next, _ := utf8.DecodeRuneInString(text[length:]); length > 0 && !unicode.IsDigit(next) {
			return length
		}
	}
	return 0
}

// run counts the digits at the beginning of text, and their bytes.
func run(text string) (length, digits int) {
	for _, r := range text {
		if !unicode.IsDigit(r) {
			break
		}
		length += utf8.RuneLen(r)
		digits++
	}
	return length, digits
}

// widestBreak is how many letters part two groups of one number at most: those
// of ") - ".
const widestBreak = 4

// groupBreak is the length of what parts two groups of one number, as it is
// written or as a recogniser hears it: "600 12 34 56", "600-12.34", "600, 12".
// 0 is none.
func groupBreak(text string) int {
	size := 0
	for i := range widestBreak + 1 {
		r, length := utf8.DecodeRuneInString(text[size:])
		switch {
		case unicode.IsSpace(r) && r != '\n' && r != '\r', strings.ContainsRune("./()", r), unicode.Is(unicode.Pd, r):
		case r == ',' && !unicode.IsDigit(after(text[size+length:])): // between digits it is of a price
		default:
			return size
		}
		if i == widestBreak {
			return 0
		}
		size += length
	}
	return size
}

// after is the first letter of text.
func after(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}
