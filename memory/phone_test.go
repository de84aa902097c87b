package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestE164(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		number, region, want string
	}{
		{"+34600123456", "ES", "+34600123456"},
		{"600 123 456", "ES", "+34600123456"},
		{"0034600123456", "ES", "+34600123456"},
		{"+44 20 7946 0958", "ES", "+442079460958"},
		{"600123456", "", ""},
		{"anonymous", "ES", ""},
		{"Restricted", "ES", ""},
		{"unavailable", "ES", ""},
		{"", "ES", ""},
		{"+34", "ES", ""},
		{"12", "ES", ""},
		{"sip:ana@example.org", "ES", ""},
	} {
		got, ok := memory.E164(tt.number, tt.region)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("E164(%q, %q) = %q, %v; want %q", tt.number, tt.region, got, ok, tt.want)
		}
	}
}
