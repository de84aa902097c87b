package replay

import (
	"time"

	"headstart/turn/stt"
)

// following is a recording being spoken: where it has come to and what was told.
type following struct {
	*listener
	place
	recording *recording
	score     float32 // when it was named

	told      int           // words that are final, or were missed
	known     int           // words that were heard
	interim   string        // the last one
	interimAt time.Duration // when the next one is due
	lost      int           // frames in a row that were not this recording
	mute      int           // frames in a row of silence in place of speech
}

// reached is the time of a recording that its step has come to.
func reached(at int) time.Duration { return time.Duration(at+1) * step }

// live places a time of the recording on the call's clock.
func (f *following) live(at time.Duration) time.Duration {
	return max(0, f.heard-reached(f.step)+at)
}

// next goes on by one frame and tells what became known; true when the
// utterance is over.
func (f *following) next(weight float32) bool {
	f.step += int(frame / step)
	if weight > 0 {
		f.align()
	}
	if f.strayed(weight) {
		f.end()
		return true
	}
	return f.speak()
}

// align corrects the place, when frames were lost or doubled.
func (f *following) align() {
	if near := f.match.nearer(f.place); near.score >= alike && near.score > f.match.at(f.place)+realign {
		f.place = near.place
	}
}

// strayed tells whether the sound stopped being this recording.
func (f *following) strayed(weight float32) bool {
	prints := f.recording.prints
	switch speech := f.step < len(prints) && loudness(prints[f.step].level) == 1; {
	case weight == 0 && speech:
		f.mute++
	case weight > 0:
		f.mute = 0
		if f.lost++; f.match.at(f.place) >= lostBelow {
			f.lost = 0
		}
	}
	return f.lost >= lostAfter || f.mute >= mutedAfter
}

// speak tells the words that became known; true when that was all.
func (f *following) speak() bool {
	last := f.recording.words[len(f.recording.words)-1]
	if reached(f.step) >= last.end+f.config.FinalDelay {
		f.end()
		return true
	}
	f.know(f.config.WordDelay)
	if f.heard >= f.interimAt {
		f.interimAt += f.config.InterimEvery
		f.tellInterim()
	}
	return false
}

// know counts the words whose end was heard so long ago. A word once known
// stays so.
func (f *following) know(delay time.Duration) {
	words := f.recording.words
	for f.known < len(words) && words[f.known].end+delay <= reached(f.step) {
		f.known++
	}
}

func (f *following) tellInterim() {
	event := f.event(stt.Interim)
	if event.Text == "" || event.Text == f.interim {
		return
	}
	f.interim = event.Text
	f.tell(event)
}

// flush makes final what was heard; true when that was all there is.
func (f *following) flush() bool {
	f.know(0)
	if f.known == len(f.recording.words) {
		f.end()
		return true
	}
	f.tellFinal()
	return false
}

// end makes final what was heard and says that the speech is over.
func (f *following) end() {
	f.know(0)
	f.tellFinal()
	over := f.live(f.recording.words[max(0, f.known-1)].end)
	f.tell(stt.Event{Kind: stt.EndOfSpeech, Start: over, End: over})
}

func (f *following) tellFinal() {
	if event := f.event(stt.Final); event.Text != "" {
		f.tell(event)
	}
	f.told, f.interim = f.known, ""
}

// event holds the words that are known and not final yet.
func (f *following) event(kind stt.Kind) stt.Event {
	words := f.recording.words[f.told:f.known]
	event := stt.Event{Kind: kind, Text: joined(words), Language: f.recording.language, Confidence: float64(f.score)}
	if len(words) > 0 {
		event.Start, event.End = f.live(words[0].start), f.live(words[len(words)-1].end)
	}
	return event
}
