package turn

import (
	"context"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
	"headstart/turn/stt"
	"headstart/turn/tts"
)

// Recogniser turns a caller's audio into transcripts.
type Recogniser interface {
	// Recognise reads the audio until the channel closes or ctx ends, and calls
	// hear for each event, from one goroutine at a time. It reconnects by
	// itself and keeps the audio meanwhile; it returns nil when the audio ended
	// and all its text is in.
	Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error
}

// Model answers a conversation.
type Model interface {
	// Reply calls emit with each piece of text as it arrives, from the calling
	// goroutine, and returns how the answer ended. It has its own deadlines for
	// the connection, the first token and each next one.
	Reply(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error)
}

// Voice says clauses.
type Voice interface {
	// Rate is the sample rate of the audio, in hertz.
	Rate() int
	// Speak reads clauses until the channel closes or ctx ends, and hands their
	// audio to play in order, from one goroutine. play may block for as long as
	// the audio before it plays; its error ends Speak.
	Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error
}

// Mouth is where the caller hears the agent. Its methods may be called from
// different goroutines.
type Mouth interface {
	// Play queues mono audio and blocks while 200 ms of it wait to be heard.
	Play(ctx context.Context, pcm []int16, rate int) error
	// Cut drops what is queued, at once.
	Cut()
	// Played is how much of the audio given to Play has left, in all, to 20 ms.
	Played() time.Duration
}

// Searcher looks passages up.
type Searcher interface {
	// Search returns what it found. When ctx ends it returns at once: with the
	// words' answer alone when it has it and the cause is ErrBudgetSpent.
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// Recaller looks up what is remembered of the contact on the line.
type Recaller interface {
	Recall(ctx context.Context, q memory.Query) (memory.Recalled, error)
}

// Toolbox runs the app's own tools.
type Toolbox interface {
	// Call runs one call, whose arguments fit the tool's parameters, and returns what came
	// back. ctx ends at the tool's timeout, when a call that only reads is not needed any
	// more, and with the conversation. The words of an error are told to the model: the app
	// has gone, say. Calls of one answer are made side by side, from different goroutines.
	Call(ctx context.Context, call llm.ToolCall) (ToolOutput, error)
}

// Log takes the entries of one call.
type Log interface {
	// Append gives the entry its seq before it returns; it never waits for a database.
	Append(event Event)
}
