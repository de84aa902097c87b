package turn

import "headstart/memory"

// Event is the payload of one log entry.
type Event interface {
	// EventType names the event on the wire, dotted: "turn.user".
	EventType() string
}

// ephemeral lists the types whose entries spend a seq and may leave no row.
// UserTranscript is here because its final text stands again in TurnUser.
var ephemeral = map[string]bool{
	"user.transcript":  true,
	"agent.transcript": true,
	"vad":              true,
}

// SpeechID joins everything that belongs to one turn. It is made at the first
// sound of the caller, so that lookups begun on interims carry it.
type SpeechID string

// CallStarted opens every call's log.
type CallStarted struct {
	Room        string          `json:"room"`
	Job         string          `json:"job,omitempty"`
	Channel     string          `json:"channel"`   // "phone" or "web"
	Medium      string          `json:"medium"`    // "voice" or "text"
	Direction   string          `json:"direction"` // "inbound" or "outbound"
	Language    string          `json:"language"`
	Contact     *memory.Contact `json:"contact,omitempty"` // nil when nobody is known
	Participant string          `json:"participant,omitempty"`
	Providers   Providers       `json:"providers"`
	Tools       []string        `json:"tools,omitempty"` // names of what the app declared for this call, called or not
}

// Providers names what served the call.
type Providers struct {
	STT      string `json:"stt,omitempty"`
	LLM      string `json:"llm,omitempty"`
	Voice    string `json:"voice,omitempty"`
	VAD      string `json:"vad,omitempty"`
	Embedder string `json:"embedder,omitempty"`
}

// UserState tells what the person on the line is doing: "listening",
// "speaking" or "away".
type UserState struct {
	State    string   `json:"state"`
	SpeechID SpeechID `json:"speech_id,omitempty"`
}

// AgentState tells what the agent is doing: "initializing", "idle",
// "listening", "thinking" or "speaking".
type AgentState struct {
	State    string   `json:"state"`
	SpeechID SpeechID `json:"speech_id,omitempty"`
}

// VAD is one edge of the voice activity detector. Ephemeral.
type VAD struct {
	Speaking bool    `json:"speaking"`
	AtMS     float64 `json:"at_ms"` // on the clock of the call
}

// UserTranscript carries the whole text of the caller's turn so far, never a
// delta. Ephemeral: TurnUser keeps the words.
type UserTranscript struct {
	SpeechID SpeechID `json:"speech_id"`
	Text     string   `json:"text"`
	Final    bool     `json:"final"`
	Language string   `json:"language,omitempty"`
}

// AgentTranscript carries the next words of the agent's reply: a delta, never
// the text so far. Ephemeral: TurnAgent keeps what was heard.
type AgentTranscript struct {
	SpeechID SpeechID `json:"speech_id"`
	Delta    string   `json:"delta"`
	Final    bool     `json:"final"` // no more deltas follow for this reply
}

// TurnUser is the caller's committed turn, as heard or as typed.
type TurnUser struct {
	SpeechID SpeechID `json:"speech_id"`
	Text     string   `json:"text"`
	Medium   string   `json:"medium"` // "voice", "text", or "dtmf" for keys of the telephone
	Language string   `json:"language,omitempty"`
	// Supersedes is the turn that this one replaced before it was answered.
	Supersedes SpeechID `json:"supersedes,omitempty"`
}

// TurnAgent is what the caller heard of a reply: history keeps the same words.
type TurnAgent struct {
	SpeechID    SpeechID `json:"speech_id"`
	Text        string   `json:"text"` // what was heard; empty when nothing was
	Interrupted bool     `json:"interrupted"`
	Kind        string   `json:"kind"` // "reply", "announce", "receipt", "greeting", "fallback", "goodbye" or "handover"
	HeardMS     float64  `json:"heard_ms"`
}

// TurnRefused tells that a committed turn got no answer of its own, and why.
type TurnRefused struct {
	SpeechID SpeechID `json:"speech_id"`
	Outcome  string   `json:"outcome"` // "superseded" or "refused"
	Reason   string   `json:"reason"`
}

// DocsSources is one search that ran for a turn, by itself or because the model called
// it. An entry without sources is a search that found nothing; a search that did not run
// writes none.
type DocsSources struct {
	SpeechID SpeechID    `json:"speech_id"`
	CallID   string      `json:"call_id,omitempty"` // of the ToolCalled that asked for it, whose ToolResulted follows
	Query    string      `json:"query"`
	Sources  []DocSource `json:"sources"` // never null
	Evidence string      `json:"evidence"`
	Cosine   float64     `json:"cosine"`
	Branches []string    `json:"branches"`
	Followed bool        `json:"followed,omitempty"` // the turns before it were searched with it
	// Rewritten is what was searched in place of the query; Unranked is why no reranker
	// ordered the sources although one was to.
	Rewritten string  `json:"rewritten,omitempty"`
	Unranked  string  `json:"unranked,omitempty"`
	TookMS    float64 `json:"took_ms"`
	// WaitedMS is what the turn waited for it, from commit. For one that the model called
	// the turn waits from the call, or from the end of what is said meanwhile: 0 when it
	// was back before that.
	WaitedMS float64 `json:"waited_ms"`
	// StartedMS is when the search began, from the end of speech: negative
	// means before the caller had stopped talking.
	StartedMS float64 `json:"started_ms"`
	EmbedMS   float64 `json:"embed_ms,omitempty"`
}

// DocSource is one passage that a search put in front of the model.
type DocSource struct {
	ID      string  `json:"id"`
	Base    string  `json:"base,omitempty"`
	Path    string  `json:"path"`
	Heading string  `json:"heading,omitempty"`
	Score   float64 `json:"score"` // fused, 1.0 is the best of its search
	Excerpt string  `json:"excerpt,omitempty"`
}

// MemoryOps is one operation on a contact's memory.
type MemoryOps struct {
	SpeechID SpeechID      `json:"speech_id,omitempty"`
	Op       string        `json:"op"` // "recall", "remember" or "forget"
	Contact  string        `json:"contact,omitempty"`
	Query    string        `json:"query,omitempty"`
	Facts    []memory.Fact `json:"facts"` // never null
	// Followed tells that a recall was asked together with the turns before it.
	Followed bool    `json:"followed,omitempty"`
	TookMS   float64 `json:"took_ms"`
	WaitedMS float64 `json:"waited_ms,omitempty"`
	// Changes are what a remember does to the facts: with Facts enough to do it
	// again. Refused are the facts that it did not keep, and why.
	Changes []MemoryChange   `json:"changes,omitempty"`
	Refused []memory.Refusal `json:"refused,omitempty"`
}

// MemoryChange is one change of a contact's facts.
type MemoryChange struct {
	Op         string  `json:"op"`                   // "add", "update" or "invalidate"
	Fact       string  `json:"fact,omitempty"`       // the id of what is held from now on, one of Facts
	Closes     string  `json:"closes,omitempty"`     // the id of what is held no more
	Confidence float64 `json:"confidence,omitempty"` // 0 to 1
	Quote      string  `json:"quote,omitempty"`      // the caller's words that support it
	Turn       string  `json:"turn,omitempty"`       // in which they were said
}

// MetricsTurn measures one answered turn, in milliseconds on the monotonic
// clock, at the first sound that the caller hears in it: of the answer, or of what is
// said while a tool runs. The stages from EndpointingMS to PlayoutMS follow each other
// and add up to FirstAudioMS.
type MetricsTurn struct {
	SpeechID      SpeechID `json:"speech_id"`
	EndpointingMS float64  `json:"endpointing_ms"` // end of speech to commit
	LookupWaitMS  float64  `json:"lookup_wait_ms"` // commit to the last lookup in or cancelled
	// ToolsMS is then spent, before the words that sounded first were asked for, on answers
	// that only called tools and on those tools, or on a tool of an earlier turn that was
	// still writing. 0 when no tool was called first.
	ToolsMS       float64 `json:"tools_ms,omitempty"`
	FirstTokenMS  float64 `json:"first_token_ms"`  // then to the model's first token
	FirstClauseMS float64 `json:"first_clause_ms"` // then to the first clause given to the voice
	FirstByteMS   float64 `json:"first_byte_ms"`   // then to the voice's first audio
	PlayoutMS     float64 `json:"playout_ms"`      // then to the first frame on the track
	FirstAudioMS  float64 `json:"first_audio_ms"`  // end of speech to the first frame on the track
	TranscriptMS  float64 `json:"transcript_ms"`   // end of speech to the last final, beside the stages
	// Preemptive is "kept" when the answer was begun before the turn was
	// committed, "discarded" when one was begun and thrown away, "withheld" when none was
	// begun because a tool that writes was running, and empty when there was nothing to
	// begin; PreemptiveReason says why it was thrown away or withheld.
	Preemptive       string `json:"preemptive,omitempty"`
	PreemptiveReason string `json:"preemptive_reason,omitempty"`
}

// MetricsLLM is what one request to the model cost.
type MetricsLLM struct {
	SpeechID SpeechID `json:"speech_id,omitempty"` // none for what no turn asked
	// Purpose is "remember" for the request, made after the hang-up, what the call
	// taught; empty for an answer of the conversation.
	Purpose            string  `json:"purpose,omitempty"`
	Model              string  `json:"model,omitempty"`
	PromptTokens       int     `json:"prompt_tokens"`
	PromptCachedTokens int     `json:"prompt_cached_tokens"`
	CompletionTokens   int     `json:"completion_tokens"`
	Estimated          bool    `json:"estimated"` // counted by us: a cancelled stream tells no usage
	TTFTMS             float64 `json:"ttft_ms"`
	DurationMS         float64 `json:"duration_ms"`
	Cancelled          bool    `json:"cancelled"`
}

// ToolCalled is a tool that the model called in a committed turn.
type ToolCalled struct {
	SpeechID  SpeechID `json:"speech_id"`
	CallID    string   `json:"call_id"` // unique within the call, joins the result to it
	Name      string   `json:"name"`
	Arguments any      `json:"arguments"` // "***" in place of those that the tool declared as pii
}

// ToolResulted is what came back from it: an output or an error, never both. Each
// ToolCalled has exactly one.
type ToolResulted struct {
	SpeechID  SpeechID `json:"speech_id"` // of the turn that called it, even when a later one has begun
	CallID    string   `json:"call_id"`
	Name      string   `json:"name"`
	Output    any      `json:"output,omitempty"`
	Error     string   `json:"error,omitempty"`   // in words, the model's to read
	Summary   string   `json:"summary,omitempty"` // the output in one line, when the app wrote one
	DurationS float64  `json:"duration_s"`        // from the call to its result, 0 when the app was not asked
}

// DTMF is a digit that the caller pressed.
type DTMF struct {
	Digit string `json:"digit"`
}

// Failure is something that went wrong. A recoverable one cost a part of a
// turn; the call went on.
type Failure struct {
	SpeechID    SpeechID `json:"speech_id,omitempty"`
	Code        string   `json:"code"`    // one of the Code constants
	Message     string   `json:"message"` // the reason, in words
	Recoverable bool     `json:"recoverable"`
}

// The codes of a Failure.
const (
	CodeSearchSkipped  = "search_skipped"  // a search was late, failed, or its base was not ready
	CodeSearchDegraded = "search_degraded" // the words answered alone
	CodeRecallSkipped  = "recall_skipped"
	CodeRememberFailed = "remember_failed" // nothing was kept of what the call taught
	CodeSTT            = "stt_failed"
	CodeLLM            = "llm_failed"
	CodeTTS            = "tts_failed"
	CodeRoom           = "room_failed"
	CodeTransfer       = "transfer_failed" // nobody took the caller: the call goes on
	CodePanic          = "panic"
)

// CallTransfer is a step of passing the caller on to somebody else. A transfer
// that was begun ends as transferred or as failed; why it failed stands in the
// Failure after it.
type CallTransfer struct {
	To      string `json:"to"`      // "tel:+34910000002" or a SIP address
	Mode    string `json:"mode"`    // "cold" or "warm"
	Outcome string `json:"outcome"` // "begun", "transferred" or "failed"
}

// CreditsExhausted tells, in an agent's own log, that a quota of its org is used
// up and that something was left undone for it.
type CreditsExhausted struct {
	Quota  string `json:"quota"` // "memory_facts"
	Limit  int    `json:"limit"`
	Holds  int    `json:"holds"`
	CallID string `json:"call_id,omitempty"` // the call that it was left undone for
}

// CallEnded says that the conversation is over; nothing is spoken after it.
type CallEnded struct {
	Reason    string  `json:"reason"`   // an EndReason
	EndedBy   string  `json:"ended_by"` // "caller", "agent", "supervisor" or "platform"
	DurationS float64 `json:"duration_s"`
}

// CallSummary closes a log: it is sealed after this entry.
type CallSummary struct {
	Turns        int     `json:"turns"`
	Answered     int     `json:"answered"`
	Interrupted  int     `json:"interrupted"`
	Lookups      int     `json:"lookups"`
	Skipped      int     `json:"skipped"`
	Errors       int     `json:"errors"`
	DurationS    float64 `json:"duration_s"`
	FramesHeard  int64   `json:"frames_heard"`
	FramesSaid   int64   `json:"frames_said"`
	FramesLost   int64   `json:"frames_lost"`
	DroppedAudio int64   `json:"dropped_audio"` // frames that the loop had no room for
}

// EventType implements Event.
func (CallStarted) EventType() string      { return "call.started" }
func (UserState) EventType() string        { return "user.state" }
func (AgentState) EventType() string       { return "agent.state" }
func (VAD) EventType() string              { return "vad" }
func (UserTranscript) EventType() string   { return "user.transcript" }
func (AgentTranscript) EventType() string  { return "agent.transcript" }
func (TurnUser) EventType() string         { return "turn.user" }
func (TurnAgent) EventType() string        { return "turn.agent" }
func (TurnRefused) EventType() string      { return "turn.refused" }
func (DocsSources) EventType() string      { return "docs.sources" }
func (MemoryOps) EventType() string        { return "memory.ops" }
func (MetricsTurn) EventType() string      { return "metrics.turn" }
func (MetricsLLM) EventType() string       { return "metrics.llm" }
func (ToolCalled) EventType() string       { return "tool.call" }
func (ToolResulted) EventType() string     { return "tool.result" }
func (DTMF) EventType() string             { return "dtmf" }
func (Failure) EventType() string          { return "error" }
func (CallTransfer) EventType() string     { return "call.transfer" }
func (CreditsExhausted) EventType() string { return "credits.exhausted" }
func (CallEnded) EventType() string        { return "call.ended" }
func (CallSummary) EventType() string      { return "call.summary" }
