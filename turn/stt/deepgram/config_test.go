package deepgram_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt/deepgram"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := (deepgram.Config{APIKey: "secret"}).Validate(); err != nil {
		t.Fatalf("validate the defaults: %v", err)
	}
	err := deepgram.Config{
		BaseURL: "ftp://deepgram", KeepAliveEvery: -1,
		Timing: line.Timing{
			ConnectTimeout: -1, WriteTimeout: -1, SilentAfter: -1,
			DrainTimeout: -1, KeepAudio: -1, GiveUpAfter: -1, Backoff: []time.Duration{-1},
		},
		Extra: map[string]string{"encoding": "opus", "callback": "http://example.org"},
	}.Validate()
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != 6 {
		t.Fatalf("validate: %v, want six complaints, that of the timing one of them", err)
	}
}

// TestQuery holds the query, as the server saw it, against the options.
func TestQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*deepgram.Config)
		want   map[string][]string
	}{
		{"defaults", func(*deepgram.Config) {}, map[string][]string{
			"model": {"nova-3"}, "language": {"multi"}, "encoding": {"linear16"}, "sample_rate": {"16000"}, "channels": {"1"},
			"interim_results": {"true"}, "vad_events": {"true"}, "no_delay": {"true"}, "punctuate": {"true"}, "smart_format": {"true"},
			"endpointing": {"100"}, "utterance_end_ms": {"1000"},
		}},
		{"all changed", func(c *deepgram.Config) {
			c.Model, c.Language, c.Keyterms = "nova-2", "es", []string{"Sanitas", "Bupa"}
			c.Endpointing, c.UtteranceEnd = -1, -1
			c.Extra = map[string]string{"punctuate": "false", "numerals": "true"}
		}, map[string][]string{
			"model": {"nova-2"}, "language": {"es"}, "encoding": {"linear16"}, "sample_rate": {"16000"}, "channels": {"1"},
			"interim_results": {"true"}, "vad_events": {"true"}, "no_delay": {"true"}, "punctuate": {"false"}, "smart_format": {"true"},
			"endpointing": {"false"}, "keywords": {"Sanitas", "Bupa"}, "numerals": {"true"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, config := fake(t, horario)
				test.change(&config)
				if _, err := call(t.Context(), t, config, func(m *linetest.Mouth) { m.Silent(linetest.Frame) }); err != nil {
					t.Fatalf("recognise: %v", err)
				}
				got := map[string][]string(server.Record().Queries[0])
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("query (-want +got):\n%s", diff)
				}
			})
		})
	}
}
