package flux_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/deepgram/deepgramtest"
	"headstart/turn/stt/flux"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms  = time.Millisecond
	hub = "quería saber el horario"
)

var horario = deepgramtest.Script{Utterances: []deepgramtest.Utterance{{Words: []deepgramtest.Word{
	{Word: "quería", Start: 0, End: 280 * ms}, {Word: "saber", Start: 280 * ms, End: 480 * ms},
	{Word: "el", Start: 480 * ms, End: 560 * ms}, {Word: "horario", Start: 560 * ms, End: 1000 * ms},
}}}}

func fake(t *testing.T, script deepgramtest.Script) (*deepgramtest.Server, flux.Config) {
	t.Helper()
	server := deepgramtest.New(script)
	config := flux.Config{APIKey: "secret", BaseURL: "ws://flux.test", HTTPClient: linetest.Serve(t, server), EagerEOTThreshold: 0.5}
	t.Cleanup(server.Close)
	return server, config
}

func call(ctx context.Context, t *testing.T, config flux.Config, speak func(*linetest.Mouth)) ([]linetest.Heard, error) {
	t.Helper()
	recogniser, err := flux.New(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new recogniser: %v", err)
	}
	return linetest.Call(ctx, t, recogniser, speak)
}

// once says the script's one utterance after 200 ms of silence.
func once(m *linetest.Mouth) {
	m.Silent(200 * ms)
	m.Speak(time.Second)
	m.Silent(500 * ms)
}

func at(d time.Duration, kind stt.Kind, text string, sure float64, from, to time.Duration) linetest.Heard {
	return linetest.Heard{At: d, Event: stt.Event{Kind: kind, Text: text, Confidence: sure, Start: from, End: to, Language: map[bool]string{true: "es"}[text != ""]}}
}

// near holds confidences together that a sum of floats parted.
var near = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })

func TestHearsATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		config.LanguageHints = []string{"es"}
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			once(m)
			m.Flush() // ignored: Flux ends turns itself
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		from := 200 * ms
		want := []linetest.Heard{
			at(200*ms, stt.SpeechStarted, "", 0, 210*ms, 210*ms),
			at(480*ms, stt.Interim, "quería", 0.99, from, 480*ms),
			at(740*ms, stt.Interim, "quería saber", 0.99, from, 680*ms),
			at(980*ms, stt.Interim, "quería saber el", 0.99, from, 760*ms),
			at(1240*ms, stt.EagerEndOfTurn, hub, 0.5, from, 1200*ms),
			at(1330*ms, stt.EndOfTurn, hub, 0.9, from, 1200*ms),
		}
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		record := server.Record()
		if diff := cmp.Diff([]string{"CloseStream"}, record.Control); diff != "" || len(record.Complaints) > 0 {
			t.Fatalf("complaints %q, control messages (-want +got):\n%s", record.Complaints, diff)
		}
	})
}

// A caller who goes on takes the guess back, and the turn ends once, with all of it.
func TestResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := horario
		script.EndOfTurn = 400 * ms
		_, config := fake(t, script)
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			m.Speak(480 * ms)
			m.Silent(200 * ms)
			m.Speak(400 * ms)
			m.Silent(600 * ms)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		type told struct {
			At   time.Duration
			Kind stt.Kind
			Text string
		}
		var ends []told
		for _, e := range linetest.Only(got, stt.EagerEndOfTurn, stt.TurnResumed, stt.EndOfTurn) {
			ends = append(ends, told{e.At, e.Kind, e.Text})
		}
		want := []told{
			{520 * ms, stt.EagerEndOfTurn, "quería saber"},
			{680 * ms, stt.TurnResumed, "quería saber el"},
			{1120 * ms, stt.EagerEndOfTurn, hub},
			{1460 * ms, stt.EndOfTurn, hub},
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Fatalf("ends (-want +got):\n%s", diff)
		}
		holdPromise(t, got)
	})
}

// holdPromise checks what stt.Event says of the three ends.
func holdPromise(t *testing.T, events []linetest.Heard) {
	t.Helper()
	guess := ""
	for _, e := range linetest.Only(events, stt.EagerEndOfTurn, stt.TurnResumed, stt.EndOfTurn) {
		switch {
		case e.Kind == stt.EagerEndOfTurn && (guess != "" || e.Text == ""),
			e.Kind == stt.TurnResumed && guess == "",
			e.Kind == stt.EndOfTurn && guess != "" && guess != e.Text:
			t.Fatalf("%v %q after a guess of %q", e.Kind, e.Text, guess)
		}
		guess = ""
		if e.Kind == stt.EagerEndOfTurn {
			guess = e.Text
		}
	}
	if guess != "" {
		t.Fatalf("the guess of %q was neither kept nor taken back", guess)
	}
}

func ends(events []linetest.Heard) []string {
	var texts []string
	for _, e := range linetest.Only(events, stt.EndOfTurn) {
		texts = append(texts, e.Text)
	}
	return texts
}

func TestReconnectHearsEveryTurnOnce(t *testing.T) {
	t.Parallel()
	script := deepgramtest.Script{Utterances: []deepgramtest.Utterance{
		{Text: "hola quería saber el horario de los sábados", Speech: 2 * time.Second},
		{Text: "y también el precio de la revisión", Speech: 1500 * ms},
	}}
	want := []string{script.Utterances[0].Text, script.Utterances[1].Text}
	for _, fault := range []deepgramtest.Fault{{Kind: deepgramtest.Drop}, {Kind: deepgramtest.Close, Status: 1011}, {Kind: deepgramtest.Fail}} {
		for after := time.Duration(0); after < 4800*ms; after += 150 * ms {
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
					if diff := cmp.Diff(want, ends(got)); diff != "" {
						t.Fatalf("turns (-want +got):\n%s", diff)
					}
					if again := linetest.Only(got, stt.Reconnected); len(again) != 1 || again[0].Err == nil {
						t.Fatalf("reconnected events %v, want one with its reason", again)
					}
					holdPromise(t, got)
				})
			})
		}
	}
}

// TestDeadConnections covers connections that do nothing: each is given up
// after its own limit, nobody waits for it, and no word is lost.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault deepgramtest.Fault
		what  string
		at    time.Duration // of the new connection
	}{
		// The network of pipes holds nothing back, so the first write that is not read waits.
		{deepgramtest.Fault{Kind: deepgramtest.Stall, After: 300 * ms}, "audio taken", 2420 * ms},
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
				if diff := cmp.Diff([]string{hub}, ends(got)); diff != "" {
					t.Fatalf("turns (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A microphone that is muted in the middle of a turn does not keep it open, and
// the silence that fills the pause takes none of the call's time.
func TestSilenceFillsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := deepgramtest.Script{Utterances: append(slices.Clone(horario.Utterances), horario.Utterances...)}
		server, config := fake(t, script)
		config.EagerEOTThreshold = 0
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			m.Speak(time.Second)
			m.Wait(65 * time.Second)
			once(m)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		want := []linetest.Heard{
			{At: 1980 * ms, Event: stt.Event{Kind: stt.EndOfTurn, Text: hub, Confidence: 0.9, End: time.Second}},
			{At: 67330 * ms, Event: stt.Event{Kind: stt.EndOfTurn, Text: hub, Confidence: 0.9, Start: 1200 * ms, End: 2200 * ms}},
		}
		if diff := cmp.Diff(want, linetest.Only(got, stt.EndOfTurn), near); diff != "" {
			t.Fatalf("ends (-want +got):\n%s", diff)
		}
		record := server.Record()
		if record.Connections != 1 || record.Pings != 2 || len(record.Complaints) > 0 {
			t.Fatalf("%d connections, %d pings in 67s, complaints %q", record.Connections, record.Pings, record.Complaints)
		}
	})
}

// The end of the audio ends the turn that was open.
func TestEndOfAudioEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, config := fake(t, horario)
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) { m.Speak(600 * ms) })
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		if diff := cmp.Diff([]string{"quería saber el"}, ends(got)); diff != "" {
			t.Fatalf("turns (-want +got):\n%s", diff)
		}
	})
}

func TestRefusalsAndFailures(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 402, 403, 404} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, config := fake(t, horario)
				server.Break(deepgramtest.Fault{Kind: deepgramtest.Refuse, Status: status})
				began := time.Now()
				_, err := call(t.Context(), t, config, once)
				refusal, ok := errors.AsType[*line.Refusal](err)
				if !ok || refusal.Status != status || refusal.Retryable() || time.Since(began) != 0 {
					t.Fatalf("recognise: %v after %v, want a refusal with %d at once", err, time.Since(began), status)
				}
			})
		})
	}
	t.Run("fails each time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			server, config := fake(t, horario)
			server.Break(deepgramtest.Fault{Kind: deepgramtest.Fail})
			_, err := call(t.Context(), t, config, func(m *linetest.Mouth) { m.Silent(2 * time.Minute) })
			failure, ok := errors.AsType[*flux.Failure](err)
			if !ok || failure.Code != "INTERNAL_SERVER_ERROR" || !failure.Retryable() {
				t.Fatalf("recognise: %v, want Flux's own failure", err)
			}
			if n := server.Record().Connections; n > 18 {
				t.Fatalf("%d connections in a minute: the wait does not grow", n)
			}
		})
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
