package transfer_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"headstart/worker/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ to, region, want string }{
		{"+34600123456", "", "tel:+34600123456"},
		{" +34 600 12 34 56 ", "", "tel:+34600123456"},
		{"tel:+34600123456", "", "tel:+34600123456"},
		{"TEL:600123456", "ES", "tel:+34600123456"},
		{"600123456", "ES", "tel:+34600123456"},
		{"600123456", "", ""},
		{"sip:desk@example.org", "", "sip:desk@example.org"},
		{"sips:desk@10.0.0.1:5061;transport=tls", "", "sips:desk@10.0.0.1:5061;transport=tls"},
		{"sip:desk", "", ""},
		{"sip:desk@example.org>\r\nX: y", "", ""},
		{"sip:a b@example.org", "", ""},
		{"https://example.org", "", ""},
		{"101", "ES", ""},
		{"", "ES", ""},
		{"tel:", "ES", ""},
	} {
		got, err := transfer.Address(tt.to, tt.region)
		if got != tt.want || (err == nil) == (tt.want == "") || err != nil && transfer.CodeOf(err) != transfer.NoAddress {
			t.Errorf("%q in %q is %q, %v, want %q", tt.to, tt.region, got, err, tt.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	if got := transfer.CodeOf(fmt.Errorf("pass on: %w", transfer.New(transfer.Late, "late"))); got != transfer.Late {
		t.Fatalf("a wrapped error is %q", got)
	}
	if got := transfer.CodeOf(errors.New("else")); got != transfer.Failed {
		t.Fatalf("another error is %q", got)
	}
}
