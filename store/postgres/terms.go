package postgres

import (
	"encoding/hex"
	"strings"
)

// longestTerm is what a lexeme may have, in bytes: PostgreSQL ignores longer ones.
const longestTerm = 2046

// coded begins a term that is spelt in another way.
const coded = "zqx"

// spell joins analysed terms into a text that PostgreSQL's parser takes apart
// into the same terms. It splits what begins with a digit and goes on in letters
// as if it were a number ("1e5x"), and which letters beyond a to z it takes for
// letters hangs on the database's locale: such terms are spelt in hexadecimal.
func spell(terms []string) string {
	var b strings.Builder
	for _, term := range terms {
		if !plain(term) {
			term = coded + hex.EncodeToString([]byte(term))
		}
		if term == "" || len(term) > longestTerm {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(term)
	}
	return b.String()
}

// plain tells whether a term is digits alone, or a letter from a to z and then
// letters and digits.
func plain(term string) bool {
	digits, letters := true, true
	for i := range len(term) {
		c := term[i]
		digit, letter := c >= '0' && c <= '9', c >= 'a' && c <= 'z'
		digits = digits && digit
		letters = letters && (letter || digit && i > 0)
	}
	return digits || letters
}
