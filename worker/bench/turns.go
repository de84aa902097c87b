package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"headstart/turn"
)

// The recognisers of a Mode.
const (
	Flux = "flux" // ends turns itself
	VAD  = "vad"  // the detector's silence and the endpointing end them
)

// Mode is one way in which turns end and are looked up for.
type Mode struct {
	Recogniser string `json:"recogniser"` // Flux or VAD
	EmbedMS    int    `json:"embed_ms"`   // of the embedder; 0 looks nothing up
	Late       bool   `json:"late"`       // lookups start at the end of the turn
}

// Name is how a mode is chosen and shown: "flux-none", "vad-80ms-late".
func (m Mode) Name() string {
	if m.EmbedMS == 0 {
		return m.Recogniser + "-none"
	}
	name := fmt.Sprintf("%s-%dms", m.Recogniser, m.EmbedMS)
	if m.Late {
		name += "-late"
	}
	return name
}

// Modes are all that are measured, in order.
func Modes() []Mode {
	var all []Mode
	for _, recogniser := range []string{Flux, VAD} {
		all = append(all, Mode{Recogniser: recogniser})
		for _, embed := range []int{80, 400} {
			all = append(all, Mode{recogniser, embed, false}, Mode{recogniser, embed, true})
		}
	}
	return all
}

// Choose takes the modes that are named, in their own order: by their whole
// name or the beginning of it ("flux", "vad-80ms"). No name is all of them.
// late leaves out those whose lookups start early.
func Choose(names []string, late bool) ([]Mode, error) {
	all := Modes()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m Mode) bool { return strings.HasPrefix(m.Name(), name) }) {
			return nil, fmt.Errorf("no mode is named %q; they are %s", name, strings.Join(modeNames(all), ", "))
		}
	}
	chosen := slices.DeleteFunc(all, func(m Mode) bool {
		named := len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(m.Name(), n) })
		return !named || late && m.EmbedMS > 0 && !m.Late
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("of the modes %s none has its lookups at the end of the turn", strings.Join(names, ", "))
	}
	return chosen, nil
}

func modeNames(modes []Mode) []string {
	var names []string
	for _, m := range modes {
		names = append(names, m.Name())
	}
	return names
}

// Turn is one question and what was measured of it, in milliseconds.
type Turn struct {
	// HeardMS is from the end of speech to the first sound heard, both the
	// caller's; nil when no sound came.
	HeardMS *float64 `json:"heard_ms"`
	// AfterCommitMS is from the worker's commit to the first sound heard. Where
	// the recogniser ends the turn, the commit is the arrival of its final.
	AfterCommitMS *float64 `json:"after_commit_ms"`
	// Stages are the worker's own; nil when no answer began.
	Stages          *turn.MetricsTurn `json:"stages"`
	LookupStartedMS *float64          `json:"lookup_started_ms,omitempty"` // from the end of speech
	LookupTookMS    *float64          `json:"lookup_took_ms,omitempty"`
	Branches        []string          `json:"branches,omitempty"` // of the search that answered
	Skipped         string            `json:"skipped,omitempty"`  // why the turn went on without its lookup
	Text            string            `json:"text"`               // of the caller, as it was understood
	Answer          string            `json:"answer"`
}

// Answered tells whether the caller heard sound and the log has its words.
func (t Turn) Answered() bool { return t.HeardMS != nil && t.Stages != nil && t.Answer != "" }

// Join gives each question what the log says of it: of the turns that were
// committed before the next question began.
func Join(asked []Asked, log []turn.Entry) []Turn {
	turns := make([]Turn, 0, len(asked))
	for i, a := range asked {
		until := time.Time{}
		if i+1 < len(asked) {
			until = asked[i+1].Began
		}
		turns = append(turns, join(a, until, log))
	}
	return turns
}

func join(a Asked, until time.Time, log []turn.Entry) Turn {
	t := Turn{}
	if !a.Answered.IsZero() {
		t.HeardMS = new(millis(a.Answered.Sub(a.Ended)))
	}
	ids := map[turn.SpeechID]bool{}
	for _, e := range log {
		user, ok := read[turn.TurnUser](e)
		if !ok || e.Time.Before(a.Began) || !until.IsZero() && !e.Time.Before(until) {
			continue
		}
		ids[user.SpeechID] = true
		t.Text = strings.TrimSpace(t.Text + " " + user.Text)
		if t.HeardMS != nil {
			t.AfterCommitMS = new(millis(a.Answered.Sub(e.Time)))
		}
	}
	for _, e := range log {
		t.take(e, ids)
	}
	return t
}

// take adds what an entry says of one of these turns.
func (t *Turn) take(e turn.Entry, mine map[turn.SpeechID]bool) {
	if m, ok := read[turn.MetricsTurn](e); ok && mine[m.SpeechID] {
		t.Stages = &m
	}
	if d, ok := read[turn.DocsSources](e); ok && mine[d.SpeechID] {
		t.LookupStartedMS, t.LookupTookMS, t.Branches = &d.StartedMS, &d.TookMS, d.Branches
	}
	if a, ok := read[turn.TurnAgent](e); ok && mine[a.SpeechID] {
		t.Answer = strings.TrimSpace(t.Answer + " " + a.Text)
	}
	if f, ok := read[turn.Failure](e); ok && mine[f.SpeechID] && f.Code == turn.CodeSearchSkipped {
		t.Skipped = f.Message
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
