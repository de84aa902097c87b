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
	email = regexp.MustCompile(`[\p{L}\p{N}._%+'-]+\s?@\s?[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`)
	iban  = regexp.MustCompile(`(?i)\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?:[ \x{00A0}-][A-Z0-9]{4}){2,7}(?:[ \x{00A0}-][A-Z0-9]{1,3})?)\b`)
)

// Mask is the copy of a text that a remote embedder sees: e-mail addresses,
// IBANs and runs of six or more digits are replaced. A run may be written in
// groups that one and the same space, dot or hyphen parts; then nine digits
// make it, so that dates and opening hours stay findable.
func Mask(text string) string {
	if strings.Contains(text, "@") {
		text = email.ReplaceAllLiteralString(text, maskedEmail)
	}
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
// first group is told, for the next may begin a longer one.
func number(text string) (end int, masked bool) {
	first, alone := run(text)
	end, digits := first, alone
	separator, size := groupBreak(text[end:])
	for next := separator; next != 0 && next == separator; next, size = groupBreak(text[end:]) {
		length, more := run(text[end+size:])
		if more == 0 {
			break
		}
		end, digits = end+size+length, digits+more
	}
	if digits >= longGroups {
		return end, true
	}
	return first, alone >= longRun
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

// groupBreak is what may part two groups of one number, and its bytes.
func groupBreak(text string) (separator rune, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch r {
	case ' ', '\u00a0', '.', '-':
		return r, size
	}
	return 0, 0
}
