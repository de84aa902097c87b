package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	broke "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schema is what the arguments of a tool must be.
type schema struct {
	compiled   *jsonschema.Schema
	properties []string // sorted
}

func (s schema) has(property string) bool { return slices.Contains(s.properties, property) }

// compileSchema reads a JSON Schema of an object. It looks nothing up elsewhere: a
// schema that points at another document is refused.
func compileSchema(text json.RawMessage) (schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return schema{}, errors.New("they are no JSON")
	}
	object, ok := doc.(map[string]any)
	if !ok || object["type"] != "object" {
		return schema{}, errors.New(`they are no JSON Schema of "type": "object"`)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // no scheme: neither files nor the network
	const here = "parameters.json"
	if err := c.AddResource(here, doc); err != nil {
		return schema{}, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return schema{}, fmt.Errorf("compile schema: %w", err)
	}
	s := schema{compiled: compiled}
	for name := range compiled.Properties {
		s.properties = append(s.properties, name)
	}
	slices.Sort(s.properties)
	return s, nil
}

// check holds arguments against the schema. Its error is for the model to read, and
// repeats no value: one may be personal.
func (s schema) check(arguments json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return errors.New("the arguments are no JSON object")
	}
	if _, ok := value.(map[string]any); !ok {
		return errors.New("the arguments are no JSON object")
	}
	err = s.compiled.Validate(value)
	if broken, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New("the arguments do not fit the tool: " + strings.Join(complaints(broken), "; "))
	}
	return err
}

// mostComplaints is how many complaints about arguments the model is told.
const mostComplaints = 5

// complaints tells what is wrong, where, without the values.
func complaints(broken *jsonschema.ValidationError) []string {
	if len(broken.Causes) == 0 {
		where := "the arguments"
		if len(broken.InstanceLocation) > 0 {
			where = strings.Join(broken.InstanceLocation, ".")
		}
		return []string{where + ": " + complaint(broken.ErrorKind)}
	}
	var all []string
	for _, cause := range broken.Causes {
		all = append(all, complaints(cause)...)
	}
	slices.Sort(all) // the validator walks maps
	return all[:min(len(all), mostComplaints)]
}

func complaint(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *broke.Required:
		return "missing " + strings.Join(k.Missing, ", ")
	case *broke.Type:
		return fmt.Sprintf("is of type %s, not %s", k.Got, strings.Join(k.Want, " or "))
	case *broke.AdditionalProperties:
		return "knows no " + strings.Join(k.Properties, ", ")
	case *broke.Enum:
		want, _ := json.Marshal(k.Want) // of a schema that was JSON
		return "is none of " + string(want)
	}
	return "breaks " + strings.Join(broken.KeywordPath(), "/")
}
