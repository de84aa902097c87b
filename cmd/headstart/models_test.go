package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/retrieval/embed/modeltest"
	"headstart/worker"
)

// TestPulledModelIsServed pulls a model from a hub, lists it, and reads it as
// the embedder that an agent names.
func TestPulledModelIsServed(t *testing.T) {
	t.Parallel()
	files := http.StripPrefix("/acme/tiny/resolve/v1/", http.FileServer(http.Dir(modeltest.Static(t))))
	hub := httptest.NewServer(files)
	defer hub.Close()
	dir := t.TempDir()
	out, err := command(t, "models", "pull", "acme/tiny", "--hub", hub.URL, "--revision", "v1", "--dir", dir)
	folder := filepath.Join(dir, "hub", "acme", "tiny")
	if err != nil || !strings.HasSuffix(out, folder+"\n") || !strings.Contains(out, "model.safetensors 100 %") {
		t.Fatalf("pull said %q, %v", out, err)
	}
	if out, err := command(t, "models", "list", "--dir", dir); err != nil || !strings.Contains(out, "acme/tiny  embedder  "+folder) {
		t.Fatalf("list said %q, %v", out, err)
	}
	e, err := embedderOf(t, &kit{settings: settings{models: dir}, log: zap.NewNop()}, "{provider: static, model: acme/tiny}")
	if err != nil || !strings.HasPrefix(e.Name(), "static/acme/tiny@") || e.Dim() != 8 {
		t.Fatalf("the pulled model is %v, %v", e, err)
	}
	hub.Close()
	if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.StripPrefix("/acme/tiny/resolve/main/", http.FileServerFS(os.DirFS(modeltest.Folder(t, map[string][]byte{"model.safetensors": []byte("other")})))))
	defer other.Close()
	if _, err := command(t, "models", "pull", "acme/tiny", "--hub", other.URL, "--dir", dir); err == nil || !strings.Contains(err.Error(), "was recorded when the model was first pulled") {
		t.Fatalf("another model was taken: %v", err)
	}
}

func TestModelsUsage(t *testing.T) {
	t.Parallel()
	for line, complaint := range map[string]string{
		"models pull nothing":          "no model is named nothing",
		"models pull a/b --from x":     "--from takes one file",
		"models pull silero-vad extra": "accepts at most 1 arg",
	} {
		if _, err := command(t, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v does not tell %q", line, err, complaint)
		}
	}
}

func embedderOf(t *testing.T, k *kit, embedder string) (interface {
	Name() string
	Dim() int
}, error) {
	t.Helper()
	a, err := worker.ParseAgent([]byte("name: a\nlanguage: es-ES\nstt: {provider: flux}\nllm: {provider: extractive}\nvoice: {provider: builtin}\nembedder: " + embedder + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k.embedder(t.Context(), a)
}
