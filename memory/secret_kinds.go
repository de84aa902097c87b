package memory

import (
	"slices"
	"strings"
)

// detector tells whether a window is a number of its kind. named says that the
// text names the kind in words.
type detector struct {
	kind Secret
	is   func(w window, named bool) bool
}

// detectors, each by the rule of who issues the number.
var detectors = []detector{
	{SecretCard, func(w window, _ bool) bool { return !w.follows && isCard(w.compact) }},
	{SecretIBAN, func(w window, _ bool) bool { return isIBAN(w.compact) }},
	{SecretDNI, func(w window, _ bool) bool { return w.lettered() && isDNI(w.compact) }},
	{SecretNIE, func(w window, _ bool) bool { return w.lettered() && isNIE(w.compact) }},
	{SecretNIR, func(w window, _ bool) bool { return w.alone() && isNIR(w.compact) }},
	{SecretCodice, func(w window, _ bool) bool { return isCodice(w.compact) }},
	{SecretSteuerID, func(w window, named bool) bool {
		return (named || len(w.groups) == 1 || w.laidOut("   ", 2, 3, 3, 3)) && w.alone() && isSteuerID(w.compact)
	}},
	{SecretNIF, func(w window, named bool) bool { return named && w.alone() && isNIF(w.compact) }},
	{SecretCPF, func(w window, named bool) bool {
		return (named || w.laidOut("..-", 3, 3, 3, 2)) && w.alone() && isCPF(w.compact)
	}},
	{SecretSSN, func(w window, named bool) bool {
		return (named || w.laidOut("--", 3, 2, 4)) && w.alone() && isSSN(w.compact)
	}},
	{SecretNHS, func(w window, named bool) bool { return named && w.alone() && isNHS(w.compact) }},
	{SecretNINO, func(w window, named bool) bool {
		return (named || w.laidOut("    ", 2, 2, 2, 2, 1)) && isNINO(w.compact)
	}},
	{SecretBSN, func(w window, named bool) bool { return named && w.alone() && isBSN(w.compact) }},
	{SecretRegister, func(w window, named bool) bool {
		return (named || len(w.groups) == 1 || w.laidOut("..-.", 2, 2, 2, 3, 2)) && w.alone() && isRegister(w.compact)
	}},
	{SecretAHV, func(w window, _ bool) bool { return w.alone() && isAHV(w.compact) }},
	{SecretCURP, func(w window, _ bool) bool { return isCURP(w.compact) }},
	{SecretCUIL, func(w window, named bool) bool {
		return (named || w.laidOut("--", 2, 8, 1)) && w.alone() && isCUIL(w.compact)
	}},
	{SecretRUT, func(w window, named bool) bool {
		return (named || w.laidOut("..-", 2, 3, 3, 1) || w.laidOut("..-", 1, 3, 3, 1)) && w.alone() && isRUT(w.compact)
	}},
}

// detect names what a window is.
func detect(w window, named map[Secret]bool) []Secret {
	if countDigits(w.compact) < 5 {
		return nil
	}
	var kinds []Secret
	for _, d := range detectors {
		if d.is(w, named[d.kind]) {
			kinds = append(kinds, d.kind)
		}
	}
	return kinds
}

// alone holds for a window that is no part of a longer run of digits and does not
// begin with the plus of a telephone number.
func (w window) alone() bool {
	return !w.follows && !w.leads && !strings.HasSuffix(w.groups[0].before, "+")
}

// lettered holds where the letter at the end belongs to the number: it touches it,
// or it stands alone and is not also a word ("8 de 12345678 a 9…").
func (w window) lettered() bool {
	last := w.groups[len(w.groups)-1]
	if w.follows {
		return false
	}
	if len(last.text) != 1 || last.before == "" || last.before == "-" {
		return true
	}
	return !strings.Contains("aeyou", last.text)
}

// laidOut tells whether the groups have these lengths and, between each two of
// them, the mark that the number is written with.
func (w window) laidOut(marks string, lengths ...int) bool {
	if len(w.groups) != len(lengths) {
		return false
	}
	for i, g := range w.groups {
		if len(g.text) != lengths[i] || i > 0 && g.before != marks[i-1:i] {
			return false
		}
	}
	return true
}

// luhn is the check of card numbers: from the right, every second digit doubled.
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// issuers are the ranges of first digits and the lengths of the cards of each
// network, as ISO/IEC 7812 numbers are given out.
var issuers = []struct {
	from, to string // inclusive, of one length
	lengths  []int
}{
	{"4", "4", []int{13, 16, 19}},               // Visa
	{"51", "55", []int{16}},                     // Mastercard
	{"2221", "2720", []int{16}},                 // Mastercard
	{"34", "34", []int{15}},                     // American Express
	{"37", "37", []int{15}},                     // American Express
	{"6011", "6011", []int{16, 17, 18, 19}},     // Discover
	{"644", "659", []int{16, 17, 18, 19}},       // Discover
	{"300", "305", []int{14, 16, 19}},           // Diners
	{"36", "36", []int{14, 16, 19}},             // Diners
	{"38", "39", []int{14, 16, 19}},             // Diners
	{"3528", "3589", []int{16, 17, 18, 19}},     // JCB
	{"62", "62", []int{16, 17, 18, 19}},         // UnionPay
	{"50", "50", []int{13, 14, 15, 16, 18, 19}}, // Maestro
	{"56", "58", []int{13, 14, 15, 16, 18, 19}}, // Maestro
	{"67", "67", []int{16, 18, 19}},             // Maestro
}

func isCard(s string) bool {
	if !digitsOnly(s) || len(s) < 13 || len(s) > 19 || strings.Count(s, s[:1]) == len(s) {
		return false
	}
	for _, i := range issuers {
		head := s[:len(i.from)]
		if head < i.from || head > i.to {
			continue
		}
		if slices.Contains(i.lengths, len(s)) {
			return luhn(s)
		}
	}
	return false
}

// ibanLengths are those of the SWIFT registry.
var ibanLengths = map[string]int{
	"ad": 24, "ae": 23, "al": 28, "at": 20, "az": 28, "ba": 20, "be": 16, "bg": 22, "bh": 22, "bi": 27, "br": 29,
	"by": 28, "ch": 21, "cr": 22, "cy": 28, "cz": 24, "de": 22, "dj": 27, "dk": 18, "do": 28, "ee": 20, "eg": 29,
	"es": 24, "fi": 18, "fk": 18, "fo": 18, "fr": 27, "gb": 22, "ge": 22, "gi": 23, "gl": 18, "gr": 27, "gt": 28,
	"hr": 21, "hu": 28, "ie": 22, "il": 23, "iq": 23, "is": 26, "it": 27, "jo": 30, "kw": 30, "kz": 20, "lb": 28,
	"lc": 32, "li": 21, "lt": 20, "lu": 20, "lv": 21, "ly": 25, "mc": 27, "md": 24, "me": 22, "mk": 19, "mn": 20,
	"mr": 27, "mt": 31, "mu": 30, "ni": 28, "nl": 18, "no": 15, "om": 23, "pk": 24, "pl": 28, "ps": 29, "pt": 25,
	"qa": 29, "ro": 24, "rs": 22, "ru": 33, "sa": 24, "sc": 31, "sd": 18, "se": 24, "si": 19, "sk": 24, "sm": 27,
	"so": 23, "st": 25, "sv": 28, "tl": 23, "tn": 24, "tr": 26, "ua": 29, "va": 22, "vg": 24, "xk": 20, "ye": 30,
}

func isIBAN(s string) bool {
	if len(s) < 15 || ibanLengths[s[:2]] != len(s) || !digitsOnly(s[2:4]) {
		return false
	}
	rest := 0
	for _, r := range s[4:] + s[:4] {
		switch {
		case r >= '0' && r <= '9':
			rest = (rest*10 + int(r-'0')) % 97
		case r >= 'a' && r <= 'z':
			rest = (rest*100 + int(r-'a') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}
