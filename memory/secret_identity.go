package memory

import (
	"regexp"
	"strconv"
	"strings"
)

// The letters that check a Spanish number, by its rest by 23.
const dniLetters = "trwagmyfpdxbnjzsqvhlcke"

var dniShape = regexp.MustCompile(`^[0-9]{8}[a-z]$`)

func isDNI(s string) bool {
	return dniShape.MatchString(s) && dniLetters[number(s[:8])%23] == s[8]
}

var nieShape = regexp.MustCompile(`^[xyz][0-9]{7}[a-z]$`)

func isNIE(s string) bool {
	return nieShape.MatchString(s) && dniLetters[number(strconv.Itoa(int(s[0]-'x'))+s[1:8])%23] == s[8]
}

// nirShape is sex, year, month (with the codes for unknown ones), department,
// commune, order and key.
var nirShape = regexp.MustCompile(`^[12378][0-9]{2}(0[1-9]|1[0-2]|[2-9][0-9])([0-9]{2}|2[ab])[0-9]{8}$`)

// isNIR counts Corsica's departments 2A and 2B as 19 and 18.
func isNIR(s string) bool {
	if !nirShape.MatchString(s) {
		return false
	}
	body := strings.NewReplacer("2a", "19", "2b", "18").Replace(s[:13])
	return number(s[13:]) == 97-number(body)%97
}

// codiceShape allows letters for digits, by which two people of one code are told
// apart.
var codiceShape = regexp.MustCompile(`^[a-z]{6}[0-9lmnpqrstuv]{2}[abcdehlmprst][0-9lmnpqrstuv]{2}[a-z][0-9lmnpqrstuv]{3}[a-z]$`)

// codiceOdd is what a letter or digit counts at an odd place of a codice fiscale;
// 0 counts as a, 1 as b.
var codiceOdd = [26]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}

func isCodice(s string) bool {
	if !codiceShape.MatchString(s) || countDigits(s) < 2 {
		return false
	}
	sum := 0
	for i := range 15 {
		at := int(s[i] - 'a')
		if s[i] <= '9' {
			at = int(s[i] - '0')
		}
		if i%2 == 0 {
			at = codiceOdd[at]
		}
		sum += at
	}
	return byte('a'+sum%26) == s[15]
}

// isSteuerID wants, of its first ten digits, one that stands two or three times
// and every other once at most, and the check of ISO 7064 mod 11,10.
func isSteuerID(s string) bool {
	if len(s) != 11 || !digitsOnly(s) || s[0] == '0' {
		return false
	}
	again := 0
	for d := '0'; d <= '9'; d++ {
		switch n := strings.Count(s[:10], string(d)); {
		case n > 3:
			return false
		case n > 1:
			again++
		}
	}
	product := 10
	for _, r := range s[:10] {
		sum := (int(r-'0') + product) % 10
		if sum == 0 {
			sum = 10
		}
		product = sum * 2 % 11
	}
	return again == 1 && (11-product)%10 == int(s[10]-'0')
}

// weighted is the sum of digits times weights.
func weighted(s string, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	return sum
}

func isNIF(s string) bool {
	if len(s) != 9 || !digitsOnly(s) || s[0] == '0' {
		return false
	}
	check := 11 - weighted(s, 9, 8, 7, 6, 5, 4, 3, 2)%11
	if check >= 10 {
		check = 0
	}
	return check == int(s[8]-'0')
}

func isCPF(s string) bool {
	if len(s) != 11 || !digitsOnly(s) || strings.Count(s, s[:1]) == 11 {
		return false
	}
	first := weighted(s, 10, 9, 8, 7, 6, 5, 4, 3, 2) * 10 % 11 % 10
	second := weighted(s, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2) * 10 % 11 % 10
	return first == int(s[9]-'0') && second == int(s[10]-'0')
}

// isSSN knows what the issuer never gave out; there is no check digit.
func isSSN(s string) bool {
	return len(s) == 9 && digitsOnly(s) && s[:3] != "000" && s[:3] != "666" && s[0] != '9' &&
		s[3:5] != "00" && s[5:] != "0000"
}

func isNHS(s string) bool {
	if len(s) != 10 || !digitsOnly(s) {
		return false
	}
	check := (11 - weighted(s, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11) % 11
	return check == int(s[9]-'0')
}

var ninoShape = regexp.MustCompile(`^[a-ceghj-prtw-z][a-ceghj-npr-tw-z][0-9]{6}[a-d]$`)

func isNINO(s string) bool { return ninoShape.MatchString(s) }

// isBSN is the eleven test; a number of eight digits has lost its zero.
func isBSN(s string) bool {
	if len(s) == 8 {
		s = "0" + s
	}
	return len(s) == 9 && digitsOnly(s) && number(s) > 0 && weighted(s, 9, 8, 7, 6, 5, 4, 3, 2, -1)%11 == 0
}

// registerShape is year, month (with the codes for unknown sex), day, order, check.
var registerShape = regexp.MustCompile(`^[0-9]{2}([024][1-9]|[135][0-2])([0-2][0-9]|3[01])[0-9]{5}$`)

// isRegister counts those born since 2000 with a 2 before the number.
func isRegister(s string) bool {
	if !registerShape.MatchString(s) {
		return false
	}
	check := number(s[9:])
	return check == 97-number(s[:9])%97 || check == 97-number("2"+s[:9])%97
}

// isAHV is a 13-digit article number of the country 756.
func isAHV(s string) bool {
	return len(s) == 13 && digitsOnly(s) && s[:3] == "756" &&
		weighted(s, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)%10 == 0
}

var curpShape = regexp.MustCompile(`^[a-z][aeioux][a-z]{2}[0-9]{6}[hmx][a-z]{2}[b-df-hj-np-tv-zñx]{3}[0-9a-z][0-9]$`)

func isCURP(s string) bool {
	if !curpShape.MatchString(s) {
		return false
	}
	const order = "0123456789abcdefghijklmnñopqrstuvwxyz"
	places := []rune(order)
	sum := 0
	for i, r := range []rune(s)[:17] {
		for at, p := range places {
			if p == r {
				sum += at * (18 - i)
			}
		}
	}
	return (10-sum%10)%10 == int(s[len(s)-1]-'0')
}

func isCUIL(s string) bool {
	if len(s) != 11 || !digitsOnly(s) || !strings.Contains("20 23 24 27 30 33 34", s[:2]) {
		return false
	}
	check := (11 - weighted(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11) % 11
	return check == int(s[10]-'0')
}

var rutShape = regexp.MustCompile(`^[0-9]{7,8}[0-9k]$`)

func isRUT(s string) bool {
	if !rutShape.MatchString(s) {
		return false
	}
	sum, weight := 0, 2
	for i := len(s) - 2; i >= 0; i-- {
		sum += int(s[i]-'0') * weight
		if weight++; weight > 7 {
			weight = 2
		}
	}
	return "0123456789k0"[11-sum%11] == s[len(s)-1]
}

// number reads up to 18 digits; the shapes hold longer ones off.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
