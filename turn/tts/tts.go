// Package tts holds what a voice is given and what it gives back: the value
// types that every adapter under it speaks, PerClause for voices that are asked
// once a clause, and the pure text work before any voice: what can be said of a
// model's Markdown (Speakable), where a clause ends while it is being written
// (Clauses), how a word is said (Pronounce). An adapter knows one vendor's wire
// and nothing of turns; it fails by returning an error from Speak, a *provider.Error
// that tells by Retryable whether asking again may help.
package tts

import "context"

// Audio is a piece of synthesised speech.
type Audio struct {
	// Clause counts the clauses that were given to the voice, from 0: the one
	// that this audio says.
	Clause int
	// PCM is mono audio at the voice's rate. Empty when only Last is told.
	PCM []int16
	// Last is set on the last audio of its clause.
	Last bool
}

// Fragmented is what a voice may have beside the methods of turn.Voice.
type Fragmented interface {
	// Fragments tells whether the voice sounds right when it is given less than
	// a sentence at a time. One that does not, since it sets the melody by what
	// it is given, should get whole sentences.
	Fragments() bool
}

// TakesFragments asks a voice; one that does not tell takes them.
func TakesFragments(voice any) bool {
	f, tells := voice.(Fragmented)
	return !tells || f.Fragments()
}

// PerClause makes a voice of a function that synthesises one clause: it says
// the clauses one after the other, in order, until the channel closes. say
// hands audio to emit as it arrives and returns when the clause is whole.
func PerClause(ctx context.Context, clauses <-chan string, play func(Audio) error, say func(ctx context.Context, text string, emit func(pcm []int16) error) error) error {
	for n := 0; ; n++ {
		var text string
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case next, ok := <-clauses:
			if !ok {
				return nil
			}
			text = next
		}
		emit := func(pcm []int16) error { return play(Audio{Clause: n, PCM: pcm}) }
		if err := say(ctx, text, emit); err != nil {
			return err
		}
		if err := play(Audio{Clause: n, Last: true}); err != nil {
			return err
		}
	}
}
