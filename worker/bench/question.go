package bench

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"headstart/worker/caller"
	"headstart/worker/room/audio"
)

// DefaultQuestion is finished by its words, and its last word of content stands
// 0.8 s before its end: "nosotros" is none.
const DefaultQuestion = "a qué hora abren los sábados para nosotros"

// perLetter is the pace of the fake recogniser: 14 letters a second.
const perLetter = 70 * time.Millisecond

// Length is how long a text is spoken, to whole frames: a fake recogniser that
// hears so much sound has said every word of it.
func Length(text string) time.Duration {
	letters := 0
	for _, r := range text {
		if !unicode.IsSpace(r) {
			letters++
		}
	}
	return (time.Duration(letters)*perLetter + audio.Frame - 1).Truncate(audio.Frame)
}

// Packets is one long vowel as long as the text, in Opus: sound without a pause,
// which a recogniser that knows only sound and silence takes for one utterance.
// All of the packets hold voice.
func Packets(text string) ([][]byte, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("encode question: it has no words")
	}
	return caller.Encode(vowel(Length(text)), audio.SaidRate)
}

const (
	pitch     = 140.0 // hertz, with a vibrato of 5 Hz, as voices have
	harmonics = 20
	loudness  = 2000.0 // of 32768
)

func vowel(length time.Duration) []int16 {
	pcm := make([]int16, int(length.Seconds()*audio.SaidRate))
	phase := 0.0
	for i := range pcm {
		at := float64(i) / audio.SaidRate
		phase += 2 * math.Pi * pitch * (1 + 0.03*math.Sin(2*math.Pi*5*at)) / audio.SaidRate
		v := 0.0
		for h := 1.0; h <= harmonics; h++ {
			v += math.Sin(h*phase) / h
		}
		pcm[i] = int16(loudness * v * (1 + 0.4*math.Sin(2*math.Pi*3*at)))
	}
	return pcm
}
