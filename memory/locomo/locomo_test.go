package locomo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/memory/locomo"
	"headstart/retrieval"
	"headstart/retrieval/embed/encodertest"
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

// TestCalibratedWithAnEncoder: fitted to every other question, a recall by both
// branches loses nothing to the words on the rest. To embed the turns for the first
// time takes a core some two minutes.
func TestCalibratedWithAnEncoder(t *testing.T) {
	t.Parallel()
	all, e := shared(t), encodertest.Open(t)
	for _, half := range []struct{ fitted, judged locomo.Half }{{locomo.Odd, locomo.Even}, {locomo.Even, locomo.Odd}} {
		began := time.Now()
		fitted, err := locomo.Calibrate(t.Context(), half.fitted.Of(all), e, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		hits := func(o locomo.Options) locomo.Report {
			r, err := locomo.Bench(t.Context(), half.judged.Of(all), o)
			if err != nil || r.Degraded > 0 {
				t.Fatalf("%d questions without their vectors, %v", r.Degraded, err)
			}
			return r
		}
		words := hits(locomo.Options{Arm: retrieval.Words})
		both := hits(locomo.Options{Arm: retrieval.Fused, Embedder: e, Calibration: &fitted.Calibration})
		t.Logf("%d %s questions, words %.2f and vectors %.2f: hit@5 %.4f and hit@20 %.4f, of the words %.4f and %.4f, after %s", both.Questions,
			half.judged, fitted.WordsWeight, fitted.VectorsWeight, both.HitAt5, both.HitAt20, words.HitAt5, words.HitAt20, time.Since(began).Round(time.Second))
		if both.HitAt5 < words.HitAt5-0.003 || both.HitAt20 < words.HitAt20-0.003 {
			t.Errorf("on the %s questions the calibrated fusion is more than 0.003 below the words", half.judged)
		}
	}
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
