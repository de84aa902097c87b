package turn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"headstart/turn/llm"
)

// Causes of the cancellations that a conversation makes.
var (
	// ErrSuperseded: newer words of the caller replaced what was begun.
	ErrSuperseded = errors.New("superseded by newer words")
	// ErrInterrupted: the caller spoke over the agent.
	ErrInterrupted = errors.New("interrupted by the caller")
)

// never is a deadline that does not come.
const never = time.Duration(1<<63 - 1)

// state is everything that a conversation knows. Only step changes it, and
// only the loop's goroutine calls step; it has no clock and does no I/O.
type state struct {
	cfg      Config
	analyser Analyser
	recalls  bool            // the agent has a memory policy
	tools    map[string]tool // the app's, and the platform's search
	unseen   map[string]bool // of the app's, those that the model may not call now
	callIDs  map[string]int  // how often each id of a tool's call has come

	now     time.Duration // of the occurrence in hand, since the conversation began
	actions []action      // asked for by the occurrence in hand

	// made counts what has been given an id.
	made struct{ turns, lookups, replies, calls int }

	started  bool        // the caller hears us
	speaking bool        // the detector says that the caller speaks
	turn     *callerTurn // being spoken, nil in between
	owed     *debt       // committed and not yet being answered
	draft    *draft      // an answer begun before its turn was committed, not heard yet
	reply    *reply      // being made or heard
	errand   *errand     // what tools do for the turn in hand
	running  []*toolCall // asked and not back, oldest first; of earlier turns too
	keys     keys        // pressed, not yet a turn
	farewell *End        // we are saying goodbye, and end with this
	handover *handover   // the caller is being passed on, nil when not
	closing  *End        // why we are on our way out
	left     bool

	// history is append-only: what was said and heard, and what tools returned. One that
	// still runs has its result filled in.
	history []llm.Message
	saidAt  time.Duration // when the caller's last turn was committed
	said    []utterance   // the caller's last committed turns, oldest first: what a question may lean on

	userState, agentState string
	quietSince            time.Duration // both sides silent since; never while either is not
	unheardSaid           bool          // we have said that we hear badly, and heard no word since
	deaf                  bool          // the recogniser gave up, and has not been heard since
	failures              int           // replies in a row that something of ours broke
}

// callerTurn is what the caller is saying.
type callerTurn struct {
	id        SpeechID
	began     time.Duration // first voiced moment
	ended     time.Duration // last voiced moment, or the last words where the detector heard none
	voiced    bool          // the detector heard it, not only the recogniser
	finals    []string
	interim   string
	language  string
	finalAt   time.Duration // when the last final came
	wordsAt   time.Duration // when the words last changed
	quiet     bool          // no voice since ended, though the detector has not called it silence
	endpoint  bool          // the recogniser heard its own endpoint
	over      bool          // the recogniser ended the turn
	eager     bool          // the recogniser says that the turn may be over
	long      bool          // it has lasted long enough to interrupt
	barged    bool          // it was spoken over the agent for long enough
	late      SpeechID      // the committed turn that it goes on with, empty for most
	lookups   lookups
	undrafted bool   // a draft of its answer failed: there is no second one
	unsaid    string // why a draft of its answer was thrown away, empty when none was
	withheld  string // why none was begun, empty when one was or could not be
}

// text is the whole turn so far.
func (t *callerTurn) text() string {
	parts := t.finals
	if t.interim != "" {
		parts = append(parts[:len(parts):len(parts)], t.interim)
	}
	return strings.Join(parts, " ")
}

// utterance is what the caller said or wrote in one committed turn.
type utterance struct {
	turn SpeechID
	text string
}

// leanOn is how many turns of the caller a question may lean on.
const leanOn = 2

// keepSaid keeps a committed turn for the questions that come after it. Keys of a
// telephone are nothing to lean on.
func (s *state) keepSaid(d *debt) {
	if d.medium == mediumKeys {
		return
	}
	s.said = append(s.said, utterance{d.id, d.text})
	if extra := len(s.said) - leanOn - 1; extra > 0 { // one more, for a turn that is taken back
		s.said = s.said[extra:]
	}
}

// takeBackSaid forgets a committed turn that goes on in another.
func (s *state) takeBackSaid(d *debt) {
	s.said = slices.DeleteFunc(s.said, func(u utterance) bool { return u.turn == d.id })
}

// before are the turns before the one in hand, as the caller said them.
func (s *state) before() []string {
	var texts []string
	for _, u := range s.said[max(0, len(s.said)-leanOn):] {
		texts = append(texts, u.text)
	}
	return texts
}

// debt is a committed turn that we owe an answer.
type debt struct {
	id        SpeechID
	text      string
	ended     time.Duration // end of speech
	committed time.Duration
	settled   time.Duration // when its last lookup was in or given up
	finalAt   time.Duration
	medium    string
	before    []string // the caller's turns before it, that its questions may lean on
	lookups   lookups
	cancelled bool     // its budget is spent and its lookups were told
	drafted   bool     // its answer was begun before the commit
	unsaid    string   // why a draft of its answer was thrown away
	withheld  string   // why none was begun
	late      SpeechID // the turn that it goes on with

	material material      // what the model is given of its lookups
	rounds   int           // answers that called tools
	exchange []llm.Message // those calls and their results
	wrote    bool          // one of them writes: the turn cannot be taken back
	heard    bool          // the caller heard something of the agent in it
	measured bool
}

// reply is what the agent is saying, or about to say.
type reply struct {
	id            int
	kind          string
	speech        SpeechID
	debt          *debt // the turn that it answers, nil for a greeting
	interruptible bool
	began         time.Duration
	sounding      bool // some of it was heard
	paused        bool // the caller speaks over it; it may go on
	stopping      bool
	merged        bool   // its turn goes on in a later one, which has its words
	told          bool   // some of its words were shown
	late          error  // it was stopped because nothing of it was heard in time
	lateCode      string // whom it was waiting for then
	marks         [stageSounding + 1]time.Duration
}

func newState(cfg Config, analyser Analyser, recalls bool) *state {
	cfg.Timing = cfg.Timing.withDefaults()
	s := &state{
		cfg: cfg, analyser: analyser, recalls: recalls, quietSince: never,
		tools: prepareTools(cfg.Tools), callIDs: map[string]int{},
	}
	if len(cfg.ToolBases) > 0 {
		s.tools[search.String()] = searchTool(cfg.ToolBases, cfg.Bases)
	}
	return s
}

func (s *state) do(a action)     { s.actions = append(s.actions, a) }
func (s *state) record(ev Event) { s.do(record{ev}) }
func (s *state) newSpeech() SpeechID {
	s.made.turns++
	return SpeechID(fmt.Sprintf("speech-%d", s.made.turns))
}

// nextDeadline is the earliest moment at which the state wants to be woken.
func (s *state) nextDeadline() time.Duration {
	return min(s.commitAt(), s.bargeAt(), s.resumeAt(), s.budgetAt(), s.patienceAt(), s.keysAt(), s.toolAt(), s.writeAt(), s.wordsAt(), s.awayAt(), s.ceilingAt())
}

// ms writes a duration as milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
