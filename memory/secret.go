package memory

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"headstart/retrieval/analyse"
)

// Secret names a kind of number that is never written, whatever a policy says.
type Secret string

// The kinds of Secret. Each is told by its own check digits or, where a number has
// none or too few to stand alone, by its layout or by a word that names it.
const (
	SecretCard     Secret = "card number"
	SecretIBAN     Secret = "IBAN"
	SecretDNI      Secret = "DNI"            // Spain
	SecretNIE      Secret = "NIE"            // Spain, foreigners
	SecretNIR      Secret = "NIR"            // France
	SecretCodice   Secret = "codice fiscale" // Italy
	SecretSteuerID Secret = "Steuer-ID"      // Germany
	SecretNIF      Secret = "NIF"            // Portugal; only where a word names it
	SecretCPF      Secret = "CPF"            // Brazil; in its layout or where a word names it
	SecretSSN      Secret = "SSN"            // United States; in its layout or where a word names it
	SecretNHS      Secret = "NHS number"     // England; only where a word names it
	SecretNINO     Secret = "NINO"           // United Kingdom; in its layout or where a word names it
	SecretBSN      Secret = "BSN"            // Netherlands; only where a word names it
	SecretRegister Secret = "rijksregister"  // Belgium
	SecretAHV      Secret = "AHV"            // Switzerland
	SecretCURP     Secret = "CURP"           // Mexico
	SecretCUIL     Secret = "CUIL"           // Argentina; in its layout or where a word names it
	SecretRUT      Secret = "RUT"            // Chile; in its layout or where a word names it
	SecretPasscode Secret = "passcode"       // digits after a word such as CVV, PIN or password
)

const (
	longestSecret    = 34 // letters and digits: an IBAN of Malta has 31, the standard allows 34
	longestSecretGap = 3  // bytes between two groups of one number
)

// Secrets tells which kinds of secret numbers a text holds, each once, in the
// order in which they begin. language is that of the text: numbers said in its
// words ("cuatro cinco tres dos…") count as digits. It never returns the number
// itself. A text that only looks like it holds one (a telephone, a date, a price,
// an order number) gives none.
func Secrets(text, language string) []Secret {
	all := groupsOf(text, language)
	named := labelsOf(all)
	var found []Secret
	for i := range all {
		for n := 1; n <= len(all)-i && n <= longestSecret; n++ {
			w, ok := windowOf(all, i, n)
			if !ok {
				break
			}
			for _, kind := range detect(w, named) {
				if !slices.Contains(found, kind) {
					found = append(found, kind)
				}
			}
		}
		if passcodeAt(all, i) && !slices.Contains(found, SecretPasscode) {
			found = append(found, SecretPasscode)
		}
	}
	return found
}

// group is a run of ASCII letters and digits and what stands before it.
type group struct{ before, text string }

// window is some groups that may be one number.
type window struct {
	compact string // their letters and digits, lower case
	groups  []group
	// follows and leads tell of digits right before and right behind, which would
	// belong to the same number if it were one.
	follows, leads bool
}

// groupsOf folds a text, writes its spoken numbers in digits, and cuts it.
// Invisible runes inside a number hide nothing.
func groupsOf(text, language string) []group {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case r > unicode.MaxASCII && unicode.IsDigit(r):
			return digit(r)
		}
		return r
	}, norm.NFKC.String(text))
	var all []group
	rest := analyse.New(language).Figures(visible)
	for {
		start := strings.IndexFunc(rest, isPart)
		if start < 0 {
			return spelt(all)
		}
		end := start + strings.IndexFunc(rest[start:]+" ", func(r rune) bool { return !isPart(r) })
		all = append(all, group{rest[:start], rest[start:end]})
		rest = rest[end:]
	}
}

// digit is the ASCII digit of another script's; Unicode keeps each ten together.
func digit(r rune) rune {
	value := rune(0)
	for value < 9 && unicode.IsDigit(r-value-1) {
		value++
	}
	return '0' + value
}

func isPart(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// letterNames are the names of letters that are no other word.
var letterNames = map[string]string{
	"efe": "f", "hache": "h", "jota": "j", "ele": "l", "eme": "m", "ene": "n", "erre": "r", "ese": "s",
	"uve": "v", "equis": "x", "zeta": "z", "ceta": "z", "ge": "g", "pe": "p", "cu": "q", "ka": "k", "be": "b", "ce": "c",
}

// spelt joins a letter that is told by its name to the digits before it:
// "12345678 letra zeta".
func spelt(all []group) []group {
	kept := all[:0:0]
	for i := 0; i < len(all); i++ {
		g := all[i]
		after := len(kept) > 0 && digitsOnly(kept[len(kept)-1].text)
		told := after && (g.text == "letra" || g.text == "letter" || g.text == "lettera") && i+1 < len(all)
		if told {
			i++
			g = group{"", all[i].text}
		}
		if letter, ok := letterNames[g.text]; ok && after {
			g = group{"", letter}
		}
		kept = append(kept, g)
	}
	return kept
}

// windowOf is n groups from i, or false where the last of them begins something
// else or the whole is too long.
func windowOf(all []group, i, n int) (window, bool) {
	w := window{groups: all[i : i+n]}
	if n > 1 && !glues(w.groups[n-1].before) {
		return w, false
	}
	var b strings.Builder
	for _, g := range w.groups {
		b.WriteString(g.text)
	}
	w.compact = b.String()
	w.follows = i > 0 && tight(all[i].before) && digitsOnly(all[i-1].text)
	w.leads = i+n < len(all) && tight(all[i+n].before) && digitsOnly(all[i+n].text)
	return w, len(w.compact) <= longestSecret
}

// glues tells whether two groups with this between them may be one number.
func glues(between string) bool {
	return len(between) <= longestSecretGap && strings.Trim(between, " -./,_\t\n") == ""
}

// tight is glue that does not also part a list.
func tight(between string) bool { return glues(between) && !strings.ContainsAny(between, ",/\n") }

func digitsOnly(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// labelsOf are the kinds that a text names in words.
func labelsOf(all []group) map[Secret]bool {
	words := make([]string, len(all))
	for i, g := range all {
		words[i] = g.text
	}
	text := " " + strings.Join(words, " ") + " "
	named := make(map[Secret]bool)
	for kind, labels := range secretLabels {
		named[kind] = slices.ContainsFunc(labels, func(l string) bool { return strings.Contains(text, " "+l+" ") })
	}
	return named
}

var secretLabels = map[Secret][]string{
	SecretNIF:      {"nif", "contribuinte", "numero fiscal", "nif portugues"},
	SecretCPF:      {"cpf"},
	SecretSSN:      {"ssn", "social security", "social security number", "seguro social"},
	SecretNHS:      {"nhs"},
	SecretNINO:     {"nino", "national insurance", "ni number"},
	SecretBSN:      {"bsn", "burgerservicenummer", "sofinummer"},
	SecretCUIL:     {"cuil", "cuit"},
	SecretRUT:      {"rut", "run"},
	SecretSteuerID: {"steuer id", "steueridentifikationsnummer", "idnr", "steuernummer"},
	SecretRegister: {"rijksregister", "rijksregisternummer", "registre national", "numero national"},
}

// passcodeWords come before a code that opens something.
var passcodeWords = []string{
	"cvv", "cvc", "cvv2", "cvc2", "pin", "clave", "contraseña", "password", "passcode", "passwort", "kennwort",
	"senha", "palavra passe", "mot de passe", "codigo de seguridad", "codigo de seguranca", "security code",
	"sicherheitscode", "pruefziffer", "code secret", "code de securite", "codice di sicurezza", "codice segreto",
	"access code", "codigo de acceso",
}

// passcodeAt tells whether group i ends a word for a code and digits follow it
// within three words.
func passcodeAt(all []group, i int) bool {
	if !slices.ContainsFunc(passcodeWords, func(w string) bool { return endsWith(all[:i+1], strings.Fields(w)) }) {
		return false
	}
	said := 0
	for _, g := range all[i+1 : min(i+12, len(all))] {
		digits := countDigits(g.text)
		said += digits
		if said >= 3 {
			return true
		}
		if digits == 0 && (said > 0 || !fillsCode[g.text]) {
			return false
		}
	}
	return false
}

// fillsCode may stand between the word and the code.
var fillsCode = map[string]bool{
	"es": true, "is": true, "ist": true, "est": true, "e": true, "de": true, "del": true, "of": true, "la": true,
	"el": true, "the": true, "tarjeta": true, "card": true, "number": true, "numero": true, "his": true, "her": true,
	"su": true, "lautet": true, "code": true, "codigo": true,
}

func endsWith(all []group, words []string) bool {
	if len(all) < len(words) {
		return false
	}
	for i, w := range words {
		if all[len(all)-len(words)+i].text != w {
			return false
		}
	}
	return true
}

func countDigits(s string) int {
	n := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}
