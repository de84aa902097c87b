package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// frame is what a model expects before and after one text.
type frame struct{ before, after []int }

// framing are the options of every post-processor.
type framing struct {
	Single []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct{} `json:"Sequence"`
	} `json:"single"`
	Special map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`

	Cls        ending            `json:"cls"`
	Sep        ending            `json:"sep"`
	Processors []json.RawMessage `json:"processors"`
}

// ending is a special token, ["[SEP]", 102] in the file.
type ending struct {
	text string
	id   int
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *ending) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&e.text, &e.id})
}

func readFrame(text json.RawMessage) (frame, error) {
	if absent(text) {
		return frame{}, nil
	}
	k, err := kind(text)
	var o framing
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	var f frame
	if err == nil {
		f, err = o.frame(k)
	}
	if err != nil {
		return frame{}, fmt.Errorf("read post_processor %s: %w", k, err)
	}
	return f, nil
}

func (o framing) frame(kind string) (frame, error) {
	switch kind {
	case "BertProcessing", "RobertaProcessing":
		return frame{before: []int{o.Cls.id}, after: []int{o.Sep.id}}, nil
	case "TemplateProcessing":
		return o.template()
	case "ByteLevel": // it only moves offsets
		return frame{}, nil
	case "Sequence":
		var all frame
		for _, text := range o.Processors {
			f, err := readFrame(text)
			if err != nil {
				return frame{}, err
			}
			all.before, all.after = append(f.before, all.before...), append(all.after, f.after...)
		}
		return all, nil
	}
	return frame{}, errUnknown
}

func (o framing) template() (frame, error) {
	var f frame
	seen := false
	for _, part := range o.Single {
		switch {
		case part.Sequence != nil:
			seen = true
		case part.Special == nil:
			return frame{}, errors.New("a part of the template is neither text nor token")
		default:
			special, ok := o.Special[part.Special.ID]
			if !ok {
				return frame{}, fmt.Errorf("the template's token %q has no id", part.Special.ID)
			}
			if seen {
				f.after = append(f.after, special.IDs...)
			} else {
				f.before = append(f.before, special.IDs...)
			}
		}
	}
	return f, nil
}

// check holds the ids to those of the vocabulary.
func (f frame) check(largest int) error {
	for _, id := range append(f.before[:len(f.before):len(f.before)], f.after...) {
		if id < 0 || id > largest {
			return fmt.Errorf("the special token %d is not in the vocabulary", id)
		}
	}
	return nil
}

func (f frame) around(ids []int, limit int) []int {
	if room := limit - len(f.before) - len(f.after); limit > 0 && len(ids) > max(0, room) {
		ids = ids[:max(0, room)]
	}
	out := make([]int, 0, len(f.before)+len(ids)+len(f.after))
	return append(append(append(out, f.before...), ids...), f.after...)
}
