package deepgramtest

import (
	"math"
	"time"
)

// The clocks of the fake, as the contract gives them.
const (
	interimEvery = 100 * time.Millisecond // while energy arrives
	finalAfter   = 150 * time.Millisecond // energy has ended
	leastSilence = 40 * time.Millisecond  // in the stream before a final
	emptyEvery   = time.Second            // of silence: an empty final, as Deepgram sends them
)

// loud is the root mean square above which 10 ms of audio count as energy:
// -40 dBFS.
const loud = 327

// ear hears the audio of one connection of v1: a pure step, told the time.
type ear struct {
	script       *track
	opened       time.Time
	rate         int           // samples a second
	segmentAfter time.Duration // see Script
	utteranceEnd time.Duration // 0 = not asked for

	part     []int16       // less than a window, left over
	heard    time.Duration // audio heard
	settled  time.Duration // covered by finals
	speaking bool
	onset    time.Duration // where the stretch began, or was taken up
	voiced   time.Duration // where its last energy ended
	voicedAt time.Time     // when that arrived
	interim  time.Duration // when the next interim is due
	owed     time.Duration // when an utterance end is due; 0 = none is
	lastWord time.Duration
}

// hear takes audio and tells what Deepgram would say of it.
func (e *ear) hear(now time.Time, pcm []int16) []any {
	var out []any
	e.part = append(e.part, pcm...)
	window := e.rate / 100
	for len(e.part) >= window {
		out = append(out, e.window(now, e.part[:window])...)
		e.part = e.part[window:]
	}
	return append(out, e.tick(now)...)
}

func (e *ear) window(now time.Time, pcm []int16) []any {
	var out []any
	begins := e.heard
	e.heard += 10 * time.Millisecond
	if rms(pcm) > loud {
		if !e.speaking {
			out = append(out, e.start(begins))
		}
		e.voiced, e.voicedAt = e.heard, now
	}
	switch {
	case !e.speaking:
		return append(out, e.quiet()...)
	case e.heard-e.voiced >= finalAfter:
		return append(out, e.final(e.script.rest(), true, false)...)
	case e.heard == e.voiced:
		return append(out, e.progress()...)
	}
	return out
}

func (e *ear) start(at time.Duration) any {
	e.speaking, e.onset, e.interim, e.owed = true, at, at+interimEvery, 0
	e.script.begin()
	return speechStarted{Type: "SpeechStarted", Channel: []int{0}, Timestamp: at.Seconds()}
}

// quiet is what silence says: nothing, but in long intervals.
func (e *ear) quiet() []any {
	var out []any
	if e.owed > 0 && e.heard >= e.owed {
		e.owed = 0
		out = append(out, utteranceEnd{Type: "UtteranceEnd", Channel: []int{0, 1}, LastWordEnd: e.lastWord.Seconds()})
	}
	if e.heard-e.settled >= emptyEvery {
		out = append(out, e.result(nil, e.heard, true, false, false))
		e.settled = e.heard
	}
	return out
}

// progress is what goes on while energy arrives.
func (e *ear) progress() []any {
	known := e.script.known(e.heard - e.onset)
	if e.segmentAfter > 0 && len(known) > 0 && e.heard-max(e.settled, e.onset) >= e.segmentAfter {
		return e.final(known, false, false)
	}
	if e.heard < e.interim {
		return nil
	}
	e.interim += interimEvery
	if len(known) == 0 {
		return nil
	}
	return []any{e.result(known, e.heard, false, false, false)}
}

// tick is what the passing of time alone says: the final of a stretch after
// which no more audio comes.
func (e *ear) tick(now time.Time) []any {
	if e.speaking && now.Sub(e.voicedAt) >= finalAfter && e.heard-e.voiced >= leastSilence {
		return e.final(e.script.rest(), true, false)
	}
	return nil
}

// control answers a control message.
func (e *ear) control(kind string, _ []byte) (answer []any, over bool) {
	switch kind {
	case "Finalize":
		return e.finalize(), false
	case "CloseStream":
		last := closing{
			Type: "Metadata", TransactionKey: "deprecated", RequestID: requestID,
			Created: e.opened.UTC().Format(time.RFC3339Nano), Duration: e.heard.Seconds(), Channels: 1,
		}
		return append(e.close(), last), true
	}
	return nil, false
}

// finalize answers a Finalize: everything once the silence is long enough, else
// the words that were heard to their end.
func (e *ear) finalize() []any {
	switch {
	case !e.speaking:
		out := e.result(nil, e.heard, true, false, true)
		e.settled = e.heard
		return []any{out}
	case e.heard-e.voiced >= leastSilence:
		return e.final(e.script.rest(), true, true)
	}
	return e.final(e.script.known(e.heard-e.onset), false, true)
}

// close answers the end of the stream.
func (e *ear) close() []any {
	if !e.speaking {
		return nil
	}
	return e.final(e.script.rest(), true, false)
}

// final freezes words. The last of a stretch covers all the audio heard; one in
// its middle ends with its last word.
func (e *ear) final(words []Word, last, asked bool) []any {
	until := e.heard
	if !last {
		until = max(e.settled, e.onset)
		if n := len(words); n > 0 {
			until = e.onset + words[n-1].End
		}
	}
	out := e.result(words, until, true, last, asked)
	e.settled = until
	if len(words) > 0 {
		e.lastWord = min(e.onset+words[len(words)-1].End, until)
	}
	if last {
		e.end()
	} else {
		e.script.freeze(len(words), until-e.onset)
		e.onset = until
	}
	return []any{out}
}

func (e *ear) end() {
	e.speaking = false
	if _, ok := e.script.utterance(); ok {
		e.script.finish()
	}
	if e.utteranceEnd > 0 {
		e.owed = e.voiced + e.utteranceEnd
	}
}

// result is a Results message about the audio since the last final.
func (e *ear) result(words []Word, until time.Duration, final, endpoint, asked bool) results {
	alt := alternative{Transcript: text(words), Words: []wireWord{}}
	for _, w := range words {
		start, end := min(e.onset+w.Start, until), min(e.onset+w.End, until)
		alt.Words = append(alt.Words, wireWord{Word: w.Word, PunctuatedWord: w.Word, Start: start.Seconds(), End: end.Seconds(), Confidence: 0.99})
		alt.Confidence = 0.99
	}
	out := results{
		Type: "Results", ChannelIndex: []int{0, 1}, Start: e.settled.Seconds(), Duration: (until - e.settled).Seconds(),
		IsFinal: final, SpeechFinal: endpoint, FromFinalize: asked,
	}
	out.Channel.Alternatives = []alternative{alt}
	return out
}

func rms(pcm []int16) float64 {
	var sum float64
	for _, sample := range pcm {
		sum += float64(sample) * float64(sample)
	}
	return math.Sqrt(sum / float64(len(pcm)))
}
