package flux_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt/flux"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := (flux.Config{APIKey: "secret"}).Validate(); err != nil {
		t.Fatalf("validate the defaults: %v", err)
	}
	tests := []struct {
		name   string
		config flux.Config
		want   int // complaints
	}{
		{"everything", flux.Config{
			BaseURL: "ftp://deepgram", Model: "nova-3", LanguageHints: []string{"es"}, EOTThreshold: 0.4, EagerEOTThreshold: 0.2,
			EOTTimeout: time.Minute, Timing: line.Timing{WriteTimeout: -1}, Extra: map[string]string{"encoding": "opus"},
		}, 9},
		{"hints for one language", flux.Config{APIKey: "k", Model: flux.English, LanguageHints: []string{"en"}}, 1},
		{"a guess surer than the end", flux.Config{APIKey: "k", EOTThreshold: 0.6, EagerEOTThreshold: 0.7}, 1},
		{"a guess surer than the default end", flux.Config{APIKey: "k", EagerEOTThreshold: 0.8}, 1},
		{"the bounds", flux.Config{APIKey: "k", EOTThreshold: 0.9, EagerEOTThreshold: 0.9, EOTTimeout: 500 * ms}, 0},
	}
	for _, test := range tests {
		err := test.config.Validate()
		var complaints []error
		if joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err); ok {
			complaints = joined.Unwrap()
		}
		if len(complaints) != test.want {
			t.Errorf("%s: %v, want %d complaints", test.name, err, test.want)
		}
	}
}

// TestQuery holds the query, as the server saw it, against the options. The
// server refuses an option that Flux does not know.
func TestQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*flux.Config)
		want   map[string][]string
	}{
		{"defaults", func(c *flux.Config) { c.EagerEOTThreshold = 0 }, map[string][]string{
			"model": {"flux-general-multi"}, "encoding": {"linear16"}, "sample_rate": {"16000"}, "eot_threshold": {"0.7"}, "eot_timeout_ms": {"5000"},
		}},
		{"all changed", func(c *flux.Config) {
			c.LanguageHints, c.Keyterms = []string{"es", "en"}, []string{"Sanitas", "Bupa"}
			c.EOTThreshold, c.EagerEOTThreshold, c.EOTTimeout = 0.8, 0.35, 2*time.Second
			c.Extra = map[string]string{"numerals": "true"}
		}, map[string][]string{
			"model": {"flux-general-multi"}, "encoding": {"linear16"}, "sample_rate": {"16000"}, "eot_threshold": {"0.8"}, "eot_timeout_ms": {"2000"},
			"eager_eot_threshold": {"0.35"}, "language_hint": {"es", "en"}, "keyterm": {"Sanitas", "Bupa"}, "numerals": {"true"},
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
				if diff := cmp.Diff(test.want, map[string][]string(server.Record().Queries[0])); diff != "" {
					t.Fatalf("query (-want +got):\n%s", diff)
				}
			})
		})
	}
}
