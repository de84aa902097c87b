package deepgram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt"
	"headstart/turn/stt/deepgram/deepgramtest"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

const (
	ms  = time.Millisecond
	hub = "quería saber el horario"
)

var horario = deepgramtest.Script{Utterances: []deepgramtest.Utterance{{Words: []deepgramtest.Word{
	{Word: "quería", Start: 0, End: 280 * ms}, {Word: "saber", Start: 280 * ms, End: 480 * ms},
	{Word: "el", Start: 480 * ms, End: 560 * ms}, {Word: "horario", Start: 560 * ms, End: 1000 * ms},
}}}}

// once says the script's one utterance after 200 ms of silence.
func once(m *linetest.Mouth) {
	m.Silent(200 * ms)
	m.Speak(time.Second)
	m.Silent(500 * ms)
}

func TestHearsAnUtterance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		got, err := call(t.Context(), t, config, once)
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		from, sure := 200*ms, 0.99
		want := []linetest.Heard{
			{At: 200 * ms, Event: stt.Event{Kind: stt.SpeechStarted, Start: from, End: from}},
			{At: 480 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería", Confidence: sure, Start: from, End: 480 * ms}},
			{At: 580 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería", Confidence: sure, Start: from, End: 480 * ms}},
			{At: 680 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería saber", Confidence: sure, Start: from, End: 680 * ms}},
			{At: 780 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería saber el", Confidence: sure, Start: from, End: 760 * ms}},
			{At: 880 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería saber el", Confidence: sure, Start: from, End: 760 * ms}},
			{At: 980 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería saber el", Confidence: sure, Start: from, End: 760 * ms}},
			{At: 1080 * ms, Event: stt.Event{Kind: stt.Interim, Text: "quería saber el", Confidence: sure, Start: from, End: 760 * ms}},
			{At: 1180 * ms, Event: stt.Event{Kind: stt.Interim, Text: hub, Confidence: sure, Start: from, End: 1200 * ms}},
			{At: 1330 * ms, Event: stt.Event{Kind: stt.Final, Text: hub, Confidence: sure, Start: from, End: 1200 * ms}},
			{At: 1330 * ms, Event: stt.Event{Kind: stt.EndOfSpeech, Start: 1200 * ms, End: 1200 * ms}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		record := server.Record()
		if diff := cmp.Diff([]string{"CloseStream"}, record.Control); diff != "" {
			t.Fatalf("control messages (-want +got):\n%s", diff)
		}
		if want := int64(2 * 16000 * 17 / 10); record.AudioBytes != want || len(record.Complaints) > 0 {
			t.Fatalf("server got %d bytes, want %d, complaints %q", record.AudioBytes, want, record.Complaints)
		}
	})
}

func TestReconnectHearsEveryWordOnce(t *testing.T) {
	t.Parallel()
	script := deepgramtest.Script{
		SegmentAfter: 500 * ms,
		Utterances: []deepgramtest.Utterance{
			{Text: "hola quería saber el horario de los sábados", Speech: 2 * time.Second},
			{Text: "y también el precio de la revisión", Speech: 1500 * ms},
		},
	}
	const all = "hola quería saber el horario de los sábados y también el precio de la revisión"
	faults := []deepgramtest.Fault{{Kind: deepgramtest.Drop}, {Kind: deepgramtest.Close, Status: 1011}}
	for _, fault := range faults {
		for after := time.Duration(0); after < 4800*ms; after += 90 * ms {
			fault.After, fault.Times = after, 1
			t.Run(fmt.Sprintf("%s after %v", fault.Kind, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server, config := fake(t, script)
					server.Break(fault)
					got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
						m.Silent(200 * ms)
						m.Speak(2 * time.Second)
						m.Silent(700 * ms)
						m.Speak(1500 * ms)
						m.Silent(700 * ms)
					})
					if err != nil {
						t.Fatalf("recognise: %v", err)
					}
					if diff := cmp.Diff(all, linetest.Said(got)); diff != "" {
						t.Fatalf("finals (-want +got):\n%s", diff)
					}
					if again := linetest.Only(got, stt.Reconnected); len(again) != 1 || again[0].Err == nil {
						t.Fatalf("reconnected events %v, want one with its reason", again)
					}
					checkClock(t, got)
				})
			})
		}
	}
}

// checkClock holds finals in order and inside the speech that was fed. A frame
// is fed when its first sample is due, so its end is known 20 ms early.
func checkClock(t *testing.T, events []linetest.Heard) {
	t.Helper()
	var before time.Duration
	for _, e := range linetest.Only(events, stt.Final) {
		inside := e.Start >= 190*ms && e.End <= 2210*ms || e.Start >= 2890*ms && e.End <= 4410*ms
		if e.Start < before || !inside || e.End > e.At+linetest.Frame {
			t.Fatalf("final %q at %v to %v, told at %v, after one that ended at %v", e.Text, e.Start, e.End, e.At, before)
		}
		before = e.End
	}
}

// TestDeadConnections covers connections that do nothing: each is given up
// after its own limit, and no word is lost.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault deepgramtest.Fault
		what  string
		at    time.Duration // of the new connection
	}{
		// The network of pipes holds nothing back, so the first write that is not read waits.
		{deepgramtest.Fault{Kind: deepgramtest.Stall, After: 300 * ms}, "audio taken", 2420 * ms},
		// Struck at once: no message ever comes, and 12 s count from the first audio.
		{deepgramtest.Fault{Kind: deepgramtest.Mute}, "message while audio flows", 12100 * ms},
		{deepgramtest.Fault{Kind: deepgramtest.Garbage}, "message while audio flows", 12100 * ms},
		{deepgramtest.Fault{Kind: deepgramtest.Hang}, "connection", 5100 * ms},
	}
	for _, test := range tests {
		t.Run(string(test.fault.Kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, config := fake(t, horario)
				test.fault.Times = 1
				server.Break(test.fault)
				got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
					once(m)
					m.Silent(14 * time.Second)
				})
				if err != nil {
					t.Fatalf("recognise: %v", err)
				}
				again := linetest.Only(got, stt.Reconnected)
				if len(again) != 1 || again[0].At != test.at {
					t.Fatalf("reconnected %v, want once, at %v", again, test.at)
				}
				if late, ok := errors.AsType[*line.Timeout](again[0].Err); !ok || late.What != test.what {
					t.Fatalf("reconnected because of %v, want no %s", again[0].Err, test.what)
				}
				if linetest.Said(got) != hub {
					t.Fatalf("heard %q, want %q", linetest.Said(got), hub)
				}
			})
		})
	}
}

func TestKeepsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			m.Wait(12 * time.Second)
			once(m)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		record := server.Record()
		if diff := cmp.Diff([]string{"KeepAlive", "KeepAlive", "CloseStream"}, record.Control); diff != "" {
			t.Fatalf("control messages (-want +got):\n%s", diff)
		}
		if record.Connections != 1 || len(record.Complaints) > 0 || linetest.Said(got) != hub {
			t.Fatalf("%d connections, complaints %q, heard %q", record.Connections, record.Complaints, linetest.Said(got))
		}
	})
}

func TestFlushBringsTheFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			m.Speak(time.Second)
			m.Silent(60 * ms)
			m.Flush()
			m.Flush()
			m.Silent(500 * ms)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		finals := linetest.Only(got, stt.Final)
		if len(finals) != 1 || finals[0].Text != hub || finals[0].At != 1060*ms {
			t.Fatalf("finals %v, want one, at 1.06s", finals)
		}
		if n := len(slices.DeleteFunc(server.Record().Control, func(s string) bool { return s != "Finalize" })); n == 0 {
			t.Fatalf("no Finalize was sent")
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		server.Break(deepgramtest.Fault{Kind: deepgramtest.Mute, After: 300 * ms})
		began := time.Now()
		_, err := call(t.Context(), t, config, once)
		if late, ok := errors.AsType[*line.Timeout](err); !ok || late.What != "last results" {
			t.Fatalf("recognise: %v, want no last results", err)
		}
		if took := time.Since(began); took != 6700*ms {
			t.Fatalf("took %v, want 6.7s: 5s after the end of the audio", took)
		}
	})
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, config := fake(t, horario)
		gone := errors.New("caller hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*ms, func() { cancel(gone) })
		began := time.Now()
		_, err := call(ctx, t, config, once)
		if took := time.Since(began); !errors.Is(err, gone) || took != 500*ms {
			t.Fatalf("recognise: %v after %v, want the cause after 500ms", err, took)
		}
	})
}

func TestKeepsBoundedAudio(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		config.KeepAudio = 2 * time.Second
		server.Break(deepgramtest.Fault{Kind: deepgramtest.Refuse, Status: 500, Times: 4})
		// The tries are at 0, 0.1, 0.6, 2.6 and 7.6 s; 7.6 s are 380 frames.
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			m.Silent(6 * time.Second)
			m.Speak(time.Second)
			m.Silent(2 * time.Second)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		finals := linetest.Only(got, stt.Final)
		want := []linetest.Heard{{At: 7600 * ms, Event: stt.Event{Kind: stt.Final, Text: hub, Confidence: 0.99, Start: 6 * time.Second, End: 7 * time.Second}}}
		if diff := cmp.Diff(want, finals); diff != "" {
			t.Fatalf("finals (-want +got):\n%s", diff)
		}
		if bytes := server.Record().AudioBytes; bytes > 2*16000*(9-5)+640 {
			t.Fatalf("%d bytes were sent, more than what is kept", bytes)
		}
	})
}
