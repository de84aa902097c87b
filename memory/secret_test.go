package memory_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nyaruka/phonenumbers"

	"headstart/memory"
)

type secretCase struct {
	Text     string          `json:"text"`
	Language string          `json:"language"`
	Holds    []memory.Secret `json:"holds"`
}

func secretCases(tb testing.TB) []secretCase {
	tb.Helper()
	text, err := os.ReadFile("../testdata/memory/secrets.json")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []secretCase
	if err := json.Unmarshal(text, &cases); err != nil {
		tb.Fatal(err)
	}
	return cases
}

// The numbers of the golden are made up; a program of its own worked out their
// check digits from the issuers' rules.
func TestSecretsGolden(t *testing.T) {
	t.Parallel()
	cases := secretCases(t)
	var right, wrong, missed int
	for _, c := range cases {
		got := memory.Secrets(c.Text, c.Language)
		for _, kind := range got {
			if slices.Contains(c.Holds, kind) {
				right++
				continue
			}
			wrong++
			t.Errorf("%s %q: found %s", c.Language, c.Text, kind)
		}
		for _, kind := range c.Holds {
			if !slices.Contains(got, kind) {
				missed++
				t.Errorf("%s %q: missed %s", c.Language, c.Text, kind)
			}
		}
	}
	if len(cases) < 60 {
		t.Fatalf("%d cases, want 60 at least", len(cases))
	}
	t.Logf("%d cases: precision %.3f, recall %.3f", len(cases),
		float64(right)/float64(right+wrong), float64(right)/float64(right+missed))
}

// A number is found however its groups are parted, with words around it.
func TestSecretsHoldWhateverPartsThem(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"", " ", "-", ".", " - ", ", ", "\u00a0", "\u200b", "_"} {
		text := "ok " + strings.Join([]string{"4111", "1111", "1111", "1111"}, by) + " gracias"
		if diff := cmp.Diff([]memory.Secret{memory.SecretCard}, memory.Secrets(text, "es")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// No telephone number of any country is taken for a secret, in any way of writing
// it. The numbers are the library's own examples.
func TestTelephoneNumbersAreNoSecrets(t *testing.T) {
	t.Parallel()
	seen := 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.TOLL_FREE} {
			example := phonenumbers.GetExampleNumberForType(region, kind)
			if example == nil {
				continue
			}
			for _, format := range []phonenumbers.PhoneNumberFormat{phonenumbers.E164, phonenumbers.INTERNATIONAL, phonenumbers.NATIONAL} {
				seen++
				text := "call " + phonenumbers.Format(example, format) + " after 9"
				if got := memory.Secrets(text, "en"); len(got) > 0 {
					t.Errorf("%s: %q: found %v", region, text, got)
				}
			}
		}
	}
	if seen < 1000 {
		t.Fatalf("%d numbers tried, want 1000 at least", seen)
	}
}

// FuzzSecrets holds that any text is read, in any language, and that a card
// number put behind it is found.
func FuzzSecrets(f *testing.F) {
	for _, c := range secretCases(f) {
		f.Add(c.Text, c.Language)
	}
	f.Add("\xff\xfe4111", "")
	f.Add("pin pin pin", "es")
	f.Add("ñ 12345678 letra", "es")
	f.Fuzz(func(t *testing.T, text, language string) {
		memory.Secrets(text, language)
		if got := memory.Secrets(text+" : es la 4111111111111111", language); !slices.Contains(got, memory.SecretCard) {
			t.Fatalf("the card behind %q was not found: %v", text, got)
		}
	})
}
