package memory

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"headstart/retrieval/analyse"
)

// Suspicion is what a stored fact looks like.
type Suspicion string

// The suspicions, the worst first.
const (
	LooksLikeSecret      Suspicion = "secret"         // a number that is never written
	LooksLikeInstruction Suspicion = "instruction"    // words to an agent
	LooksLikeAnother     Suspicion = "another_person" // the data of somebody else
)

// Finding is a stored fact that a person should look at. It accuses nobody: the
// audit reads words, and a person decides.
type Finding struct {
	Contact   string    `json:"contact"`
	Fact      string    `json:"fact"` // its id
	Text      string    `json:"text"` // Withheld when it holds a secret
	Source    string    `json:"source,omitempty"`
	Current   bool      `json:"current"`
	Suspicion Suspicion `json:"suspicion"`
	Words     string    `json:"words"` // why, for a person to read
}

// Audit reads the facts of one contact, held and closed, for what admission should
// have refused, and for data of other people. language is the agent's, for spoken
// numbers; empty reads those of none.
func Audit(contact string, facts []Held, language string) []Finding {
	var found []Finding
	for _, f := range facts {
		report := func(s Suspicion, text, words string) {
			found = append(found, Finding{contact, f.ID, text, f.Source, f.Current(), s, words})
		}
		whole := f.Text + " " + f.Category + " " + f.Quote
		text := f.Text
		if kinds := Secrets(whole, language); len(kinds) > 0 {
			text = Withheld
			report(LooksLikeSecret, text, "it holds a "+string(kinds[0]))
		}
		if words, ok := Instruction(f.Text); ok {
			report(LooksLikeInstruction, text, "it tells an agent: "+words)
		}
		if words, ok := another(contact, f.Text); ok {
			report(LooksLikeAnother, text, words)
		}
	}
	return found
}

var (
	mailAddress = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(\.[\pL\pN-]+)+`)
	// somePhone is what may be a telephone number; whether it is one, the library says.
	somePhone = regexp.MustCompile(`\+?[0-9][0-9 ().-]{6,18}[0-9]`)
	// relatives, folded, with a verb behind: what is told is theirs. That somebody has
	// a daughter is the contact's own.
	relatives = regexp.MustCompile(`\b(su|mi|seu|sua|meu|minha|his|her|their|my|son|sa|ses|mon|ma|sein|seine|ihr|ihre|mein|meine|il suo|la sua)\s+(\w+\s+)?` +
		`(hij[oa]s?|marido|mujer|espos[oa]|pareja|novi[oa]|madre|padre|mama|papa|herman[oa]s?|abuel[oa]s?|niet[oa]s?|vecin[oa]|jefe|jefa|compañer[oa]|amig[oa]|` +
		`filh[oa]s?|mae|pai|irma|irmao|av[oa]|vizinh[oa]|` +
		`sons?|daughters?|wife|husband|partner|mother|father|mom|mum|dad|brothers?|sisters?|grand\w+|neighbou?r|boss|colleague|friend|` +
		`fils|fille|mari|femme|mere|pere|frere|soeur|voisine?|ami|amie|` +
		`sohn|tochter|frau|mann|mutter|vater|bruder|schwester|nachbar(in)?|freund(in)?|` +
		`figli[oa]|marito|moglie|fratello|sorella|vicin[oa]|amic[oa])\s+(\w+\s+)?` +
		`(es|esta|tiene|toma|padece|sufre|vive|trabaja|nacio|gana|e|tem|toma|mora|vive|trabalha|is|has|takes|lives|works|suffers|earns|was|` +
		`est|a|prend|habite|travaille|souffre|ist|hat|nimmt|wohnt|arbeitet|leidet|ha|prende|abita|lavora|soffre)\b`)
)

// another tells what in a fact is of somebody else: a telephone number that is not
// the contact's, a mail address, or what a relative is or has.
func another(contact, text string) (words string, found bool) {
	for _, number := range somePhone.FindAllString(text, -1) {
		if isOthers(contact, number) {
			return "a telephone number that is not the contact's", true
		}
	}
	if mail := mailAddress.FindString(text); mail != "" && !strings.EqualFold(mail, contact) {
		return "a mail address", true
	}
	if words := relatives.FindString(analyse.Fold(text)); words != "" {
		return "it tells of a relative or acquaintance: " + words, true
	}
	return "", false
}

// isOthers tells whether a number is a telephone's and not the contact's. A number
// without a prefix is read as one of the contact's own country.
func isOthers(contact, number string) bool {
	region := ""
	if own, err := phonenumbers.Parse(contact, ""); err == nil {
		region = phonenumbers.GetRegionCodeForNumber(own)
	}
	regions := []string{region}
	if region == "" {
		regions = []string{"ES", "GB", "US", "PT", "FR", "DE", "IT", "MX", "AR"}
	}
	return slices.ContainsFunc(regions, func(region string) bool {
		e164, ok := E164(number, region)
		return ok && e164 != contact
	})
}
