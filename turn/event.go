package turn

import (
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
	"headstart/turn/stt"
)

// occurrence is something that happened to the conversation: all that step reads.
type occurrence interface{ isOccurrence() }

type (
	// began: the caller hears us from now on.
	began struct{}
	// voiced is an edge of the detector; at is the first or last voiced moment.
	voiced struct {
		speaking bool
		at       time.Duration
	}
	// lasted: the caller has been speaking for long enough to interrupt.
	lasted struct{}
	// paused: there has been no voice since a moment, though it is too early to
	// call it silence. spokeOn takes it back.
	paused  struct{ at time.Duration }
	spokeOn struct{}
	// heard is what the recogniser told.
	heard struct{ stt.Event }
	// deafened: the recogniser gave up for the time being.
	deafened struct{ err error }
	// typed is a written message of the caller.
	typed struct{ text string }
	// found is a lookup that came back.
	found struct {
		id  int
		out findings
	}
	// progressed is a reply that reached a stage.
	progressed struct {
		id    int
		stage stage
		delta string // with stageWords
	}
	// called: the answer of a reply ended with calls of tools; said tells whether it has
	// words besides.
	called struct {
		id    int
		calls []llm.ToolCall
		said  bool
	}
	// returned is a call of a tool that came back.
	returned struct {
		id  int
		out ToolOutput
		err error
	}
	// finished is a reply that will make no more sound.
	finished struct {
		id  int
		out outcome
	}
	// pressed is a key of the telephone.
	pressed struct{ digit string }
	// offering: of the app's tools the model may call these alone.
	offering struct{ tools []string }
	// dismissed: the conversation is to end with a closing phrase.
	dismissed struct{ end End }
	// handedOver: the caller is to be passed on; kept: nobody took them.
	handedOver struct{ said chan<- struct{} }
	kept       struct{}
	// ticked: a deadline of the state has come.
	ticked struct{}
	// burst: a worker of the conversation panicked.
	burst struct{}
	// closed: the conversation is over.
	closed struct{ end End }
)

func (began) isOccurrence()      {}
func (voiced) isOccurrence()     {}
func (lasted) isOccurrence()     {}
func (paused) isOccurrence()     {}
func (spokeOn) isOccurrence()    {}
func (heard) isOccurrence()      {}
func (deafened) isOccurrence()   {}
func (typed) isOccurrence()      {}
func (found) isOccurrence()      {}
func (progressed) isOccurrence() {}
func (called) isOccurrence()     {}
func (returned) isOccurrence()   {}
func (finished) isOccurrence()   {}
func (pressed) isOccurrence()    {}
func (dismissed) isOccurrence()  {}
func (offering) isOccurrence()   {}
func (handedOver) isOccurrence() {}
func (kept) isOccurrence()       {}
func (ticked) isOccurrence()     {}
func (burst) isOccurrence()      {}
func (closed) isOccurrence()     {}

// End is why and by whom a conversation ended, in the words of the log.
type End struct {
	Reason string
	By     string
}

// Error makes an End the cause of a cancellation.
func (e End) Error() string { return "call ended: " + e.Reason + " by " + e.By }

// findings are what a lookup came back with.
type findings struct {
	docs   retrieval.Result // of a search
	memory memory.Recalled
	err    error
}

// stage is a moment in the life of a reply, in the order that they are reached.
type stage int

const (
	stageToken    stage = iota + 1 // the model's first token
	stageClause                    // the first clause was given to the voice
	stageByte                      // the voice's first audio
	stageSounding                  // the first frame left on the track
	stageWords                     // playback reached the next words
)

// outcome is how a reply ended.
type outcome struct {
	text  string         // what the caller heard of it
	heard time.Duration  // for how long it sounded
	whole bool           // it was heard to its end
	err   error          // what broke it, nil when it was heard whole or stopped on purpose
	code  string         // the code of the Failure that err makes
	model *modelUse      // nil when no model was asked
	calls []llm.ToolCall // what the model asked to be done
}

// modelUse is what one reply asked of the model.
type modelUse struct {
	result    llm.Result
	estimated bool
	ttft      time.Duration
	took      time.Duration
	cancelled bool
}

// action is what step asks the loop to do.
type action interface{ isAction() }

type (
	// record appends an entry to the log.
	record struct{ event Event }
	// look starts a lookup.
	look struct {
		id    int
		kind  kind
		bases []retrieval.Attachment // of a search
		query string
		// before are the caller's last turns, oldest first, without the one in hand.
		before []string
		// written tells that the answer is waited for by somebody who reads.
		written bool
	}
	// drop cancels a lookup.
	drop struct {
		id    int
		cause error
	}
	// speak starts a reply: from a model's answer, or from words that are given.
	speak struct {
		id      int
		request llm.Request // when say is empty and clip is nil
		say     string
		clip    *Clip
		held    bool // until it is released nothing of it is heard
	}
	// run makes a call of a tool; quit cancels it.
	run struct {
		id      int
		call    llm.ToolCall
		timeout time.Duration
	}
	quit struct {
		id    int
		cause error
	}
	// hold silences a reply at once; release lets it go on from there.
	hold    struct{ id int }
	release struct{ id int }
	// hush stops a reply: its model, its voice and its sound, at once.
	hush struct {
		id    int
		cause error
	}
	// warm has the model and the voice open their connections before they are needed.
	warm struct{}
	// flush asks the recogniser for its final text.
	flush struct{}
	// inform tells who passes the caller on that they have been told.
	inform struct{ said chan<- struct{} }
	// leave ends the loop.
	leave struct{ end End }
)

func (record) isAction()  {}
func (look) isAction()    {}
func (drop) isAction()    {}
func (speak) isAction()   {}
func (run) isAction()     {}
func (quit) isAction()    {}
func (hold) isAction()    {}
func (release) isAction() {}
func (hush) isAction()    {}
func (warm) isAction()    {}
func (flush) isAction()   {}
func (inform) isAction()  {}
func (leave) isAction()   {}
