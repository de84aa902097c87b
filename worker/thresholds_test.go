package worker_test

import (
	"strings"
	"testing"

	"headstart/worker"
)

func TestThresholdsOfTheEndOfTurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, provider, turn string
		complaints           []string
	}{
		{"both", "flux", "{eot_threshold: 0.8, eager_eot_threshold: 0.4}", nil},
		{"the bounds", "flux", "{eot_threshold: 0.9, eager_eot_threshold: 0.9}", nil},
		{"a guess below the default", "flux", "{eager_eot_threshold: 0.7}", nil},
		{"out of range", "flux", "{eot_threshold: 0.95, eager_eot_threshold: 0.2}", []string{"eot_threshold: 0.95", "eager_eot_threshold: 0.2"}},
		{"nothing is not absent", "flux", "{eot_threshold: 0}", []string{"eot_threshold: 0 is not in"}},
		{"a guess above the default", "flux", "{eager_eot_threshold: 0.8}", []string{"above eot_threshold, 0.7"}},
		{"a guess above the end", "flux", "{eot_threshold: 0.5, eager_eot_threshold: 0.6}", []string{"above eot_threshold, 0.5"}},
		{"a recogniser that does not end turns", "deepgram", "{eot_threshold: 0.8}", []string{`"deepgram" does not end turns itself`}},
		{"and a wrong guess", "deepgram", "{eager_eot_threshold: 1}", []string{"does not end turns", "eager_eot_threshold: 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := worker.ParseAgent([]byte("name: a\nlanguage: es\nstt: {provider: " + tt.provider + "}\nllm: {provider: extractive}\nvoice: {provider: local}\nturn: " + tt.turn))
			if err == nil != (len(tt.complaints) == 0) {
				t.Fatalf("parse: %v, want complaints %q", err, tt.complaints)
			}
			for _, c := range tt.complaints {
				if !strings.Contains(err.Error(), c) {
					t.Fatalf("the complaint does not tell %q: %v", c, err)
				}
			}
		})
	}
}
