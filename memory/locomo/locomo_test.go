package locomo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"headstart/memory/locomo"
	"headstart/retrieval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared opens the data, which is for evaluation only and not part of the tree.
func shared(t *testing.T) []locomo.Conversation {
	t.Helper()
	root := os.Getenv("HEADSTART_SHARED")
	if root == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("HEADSTART_SHARED does not say where the shared data is")
		}
		t.Skip("HEADSTART_SHARED does not say where the shared data is")
	}
	file, err := os.Open(filepath.Join(root, "data", "locomo", "locomo-a.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := locomo.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The bars are those that words alone reach: what is below them has lost something.
func TestWordsAloneFindTheEvidence(t *testing.T) {
	t.Parallel()
	report, err := locomo.Bench(t.Context(), shared(t), locomo.Options{Arm: retrieval.Words})
	if err != nil {
		t.Fatal(err)
	}
	if report.HitAt5 < 0.62 || report.HitAt20 < 0.755 {
		t.Errorf("hit@5 %.4f, hit@20 %.4f: want 0.62 and 0.755", report.HitAt5, report.HitAt20)
	}
	t.Logf("%d questions: hit@1 %.4f, hit@5 %.4f, hit@10 %.4f, hit@20 %.4f",
		report.Questions, report.HitAt1, report.HitAt5, report.HitAt10, report.HitAt20)
}

func TestReadRefusesOtherFormats(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", `[{}]`, `[{"conversation":{"session_1":3}}]`, `[{"conversation":{"speaker_a":"Ana"}}]`} {
		if _, err := locomo.Read(strings.NewReader(text)); !errors.Is(err, locomo.ErrFormat) {
			t.Errorf("Read(%s): %v, want ErrFormat", text, err)
		}
	}
}

// FuzzRead holds that a file is read or refused as none of the format, and that
// what is read can be benched.
func FuzzRead(f *testing.F) {
	f.Add(`[{"sample_id":"c","conversation":{"session_1":[{"speaker":"Ana","dia_id":"D1:1","text":"hi"}],"session_1_date_time":"1:56 pm on 8 May, 2023"},"qa":[{"question":"hi?","category":1,"evidence":["D1:1"]}]}]`)
	f.Add(`[{"conversation":{"session_1":[]}}]`)
	f.Add(`[{"conversation":{"session_-1":[{}],"session_x":3},"qa":[{"question":"","category":9}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := locomo.Read(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, locomo.ErrFormat) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if _, err := locomo.Bench(t.Context(), all, locomo.Options{Arm: retrieval.Words}); err != nil {
			t.Fatalf("bench: %v", err)
		}
	})
}
