package turn

import "slices"

// Offered says which of the app's tools the model may call from now on, by name. All
// of them until it comes. What runs already runs on.
type Offered struct{ Tools []string }

func (m Offered) occurrence() occurrence { return offering{m.Tools} }

// ToolsSet tells which of the app's tools the model may call from here on.
type ToolsSet struct {
	Tools []string `json:"tools"` // never null
}

// EventType implements Event.
func (ToolsSet) EventType() string { return "tools.set" }

// onOffered takes which tools are to be seen.
func (s *state) onOffered(names []string) {
	s.unseen = map[string]bool{}
	seen := []string{}
	for _, t := range s.cfg.Tools {
		if slices.Contains(names, t.Name) {
			seen = append(seen, t.Name)
		} else {
			s.unseen[t.Name] = true
		}
	}
	s.record(ToolsSet{Tools: seen})
}
