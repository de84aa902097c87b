package memory

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// E164 writes a caller's number in E.164 (+34600123456). region is the country
// that a number without a prefix is of, as ISO 3166 has it ("ES"). It returns
// false for what is no number of anybody: hidden, anonymous, restricted,
// malformed. Nobody can be remembered by that.
func E164(number, region string) (string, bool) {
	number = strings.TrimSpace(number)
	if number == "" {
		return "", false
	}
	parsed, err := phonenumbers.Parse(number, strings.ToUpper(region))
	if err != nil || !phonenumbers.IsValidNumber(parsed) {
		return "", false
	}
	return phonenumbers.Format(parsed, phonenumbers.E164), true
}
