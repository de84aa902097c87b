package v1_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/golden"
	"headstart/retrieval/knowledge"
	"headstart/retrieval/knowledge/knowledgetest"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
)

// library is an API with documents.
type library struct {
	*desk
	store *knowledgetest.Store
	cfg   v1.Config
	held  *retrieval.Library
	dim   int
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{desk: newDesk(t, calllog.Config{}), store: &knowledgetest.Store{}, held: &retrieval.Library{}, dim: 512}
	l.cfg.Bases = &v1.Bases{
		Store: l.store, Scratch: t.TempDir(),
		Embedder: func(context.Context, knowledge.Base) (retrieval.Embedder, error) { return embed.Hashing(l.dim), nil },
		Searcher: func(context.Context, knowledge.Base) (*retrieval.Searcher, error) {
			return retrieval.NewSearcher(l.held, embed.Hashing(l.dim)), nil
		},
	}
	return l
}

// shelve brings what is stored into memory.
func (l *library) shelve() {
	l.t.Helper()
	if err := knowledge.NewShelf(l.store, l.held, knowledge.ShelfConfig{}, zap.NewNop()).Load(l.t.Context()); err != nil {
		l.t.Fatalf("load bases: %v", err)
	}
}

func (l *library) send(method, path, kind string, body []byte) *httptest.ResponseRecorder {
	return l.ask(l.cfg, method, path, func(r *http.Request) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
	})
}

func (l *library) must(status int, w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	l.t.Helper()
	if w.Code != status {
		l.t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	return w
}

// tarOf packs files given as path, text, path, text.
func tarOf(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for pair := range slices.Chunk(pairs, 2) {
		err := archive.WriteHeader(&tar.Header{Name: pair[0], Mode: 0o644, Size: int64(len(pair[1]))})
		if _, writeErr := archive.Write([]byte(pair[1])); errors.Join(err, writeErr) != nil {
			t.Fatalf("pack: %v", errors.Join(err, writeErr))
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatalf("pack: %v", err)
	}
	return packed.Bytes()
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); errors.Join(err, w.Close()) != nil {
		t.Fatalf("gzip: %v", err)
	}
	return packed.Bytes()
}

func zipOf(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for pair := range slices.Chunk(pairs, 2) {
		w, err := archive.Create(pair[0])
		if err != nil {
			t.Fatalf("pack: %v", err)
		}
		if _, err := w.Write([]byte(pair[1])); err != nil {
			t.Fatalf("pack: %v", err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatalf("pack: %v", err)
	}
	return packed.Bytes()
}

// A folder comes whole, in each kind of archive, and afterwards is what the base
// holds.
func TestPutBase(t *testing.T) {
	t.Parallel()
	files := []string{"./tarifas.md", "# Tarifas\n\n## Revisión\n\nLa revisión cuesta 60 euros.", "faq/horarios.md", "# Horarios\n\nAbrimos los sábados.", "foto.jpg", "x"}
	for kind, body := range map[string][]byte{
		"application/x-tar": tarOf(t, files...), "application/gzip": gzipOf(t, tarOf(t, files...)), "application/zip": zipOf(t, files...),
	} {
		l := newLibrary(t)
		w := l.must(http.StatusOK, l.send(http.MethodPut, "/v1/knowledge/clinica?language=en", kind, body))
		if field[int](t, w, "put") != 2 || field[int](t, w, "chunks") != 2 || field[[]v1.LeftOut](t, w, "refused")[0].Path != "foto.jpg" {
			t.Fatalf("%s: %s", kind, w.Body)
		}
		w = l.must(http.StatusOK, l.send(http.MethodPut, "/v1/knowledge/clinica", kind, body))
		if field[int](t, w, "put") != 0 || field[int](t, w, "kept") != 2 || field[int](t, w, "embedded") != 0 {
			t.Fatalf("%s again: %s", kind, w.Body)
		}
		w = l.must(http.StatusOK, l.ask(l.cfg, http.MethodGet, "/v1/knowledge/clinica"))
		if list := field[[]v1.File](t, w, "list"); len(list) != 2 || list[0].Path != "faq/horarios.md" || field[string](t, w, "language") != "en" {
			t.Fatalf("%s: base %s", kind, w.Body)
		}
		if bases := field[[]v1.Base](t, l.ask(l.cfg, http.MethodGet, "/v1/knowledge"), "bases"); len(bases) != 1 || bases[0].Chunks != 2 {
			t.Fatalf("bases: %+v", bases)
		}
	}
}

func TestPutFile(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	put := func(path, text string) *httptest.ResponseRecorder {
		return l.send(http.MethodPut, "/v1/knowledge/clinica/files/"+path, "text/markdown", []byte(text))
	}
	l.must(http.StatusOK, put("faq/a.md", "# A\n\nuno"))
	w := l.must(http.StatusOK, put("b.md", "# B\n\ndos"))
	if field[int](t, w, "chunks") != 2 || field[int](t, w, "put") != 1 {
		t.Fatalf("second file: %s", w.Body)
	}
	if code := field[string](t, l.must(http.StatusUnprocessableEntity, put("foto.jpg", "x")), "code"); code != "file" {
		t.Fatalf("a file that is not read: %s", code)
	}
	if code := field[string](t, l.must(http.StatusRequestEntityTooLarge, put("big.md", strings.Repeat("x", 17<<20))), "code"); code != "size" {
		t.Fatalf("a file that is too large: %s", code)
	}
	l.must(http.StatusNoContent, l.ask(l.cfg, http.MethodDelete, "/v1/knowledge/clinica/files/faq/a.md"))
	l.must(http.StatusNotFound, l.ask(l.cfg, http.MethodDelete, "/v1/knowledge/clinica/files/faq/a.md"))
	l.must(http.StatusNoContent, l.ask(l.cfg, http.MethodDelete, "/v1/knowledge/clinica"))
	l.must(http.StatusNotFound, l.ask(l.cfg, http.MethodDelete, "/v1/knowledge/clinica"))
	l.must(http.StatusNotFound, l.ask(l.cfg, http.MethodGet, "/v1/knowledge/clinica"))
}

// What is refused is refused whole, with a code, and leaves the base as it was.
func TestPutBaseRefuses(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.must(http.StatusOK, l.send(http.MethodPut, "/v1/knowledge/clinica", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno", "b.md", "# B\n\ndos", "c.md", "# C\n\ntres")))
	one := 1
	for _, c := range []struct {
		path, kind string
		body       []byte
		before     func()
		status     int
		code       string
	}{
		{"clinica", "text/plain", []byte("x"), nil, http.StatusUnsupportedMediaType, "content_type"},
		{"clinica", "application/x-tar", []byte("no es un tar"), nil, http.StatusBadRequest, "body"},
		{"clinica", "application/gzip", []byte("no es gzip"), nil, http.StatusBadRequest, "body"},
		{"clinica", "application/zip", []byte("no es un zip"), nil, http.StatusBadRequest, "body"},
		{"clinica", "application/x-tar", tarOf(t, "../fuera.md", "# F\n\nfuera"), nil, http.StatusBadRequest, "name"},
		{"clinica", "application/zip", zipOf(t, "/etc/fuera.md", "# F\n\nfuera"), nil, http.StatusBadRequest, "name"},
		{"clinica", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno"), nil, http.StatusConflict, "prune"},
		{"a%20b", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno"), nil, http.StatusBadRequest, "name"},
		{"clinica", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno", "b.md", "# B\n\ndos"), func() { l.dim = 64 }, http.StatusConflict, "embedder"},
		{"otra", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno"), func() {
			if err := l.store.SetQuota(t.Context(), calllog.DefaultOrg, knowledge.Quota{KnowledgeChunks: &one}); err != nil {
				t.Fatal(err)
			}
		}, http.StatusConflict, "quota"},
		{"clinica", "application/x-tar", tarOf(t), func() { l.store.Fail(func(string) error { return errors.New("down") }) }, http.StatusServiceUnavailable, "store"},
	} {
		if c.before != nil {
			c.before()
		}
		w := l.must(c.status, l.send(http.MethodPut, "/v1/knowledge/"+c.path, c.kind, c.body))
		if code := field[string](t, w, "code"); code != c.code {
			t.Fatalf("%s %s: code %q, want %q", c.path, c.kind, code, c.code)
		}
	}
	l.store.Fail(nil)
	w := l.must(http.StatusOK, l.ask(l.cfg, http.MethodGet, "/v1/knowledge/clinica"))
	if field[int](t, w, "files") != 3 || field[int](t, w, "chunks") != 3 {
		t.Fatalf("base after what was refused: %s", w.Body)
	}
	l.dim = 512
	w = l.must(http.StatusOK, l.send(http.MethodPut, "/v1/knowledge/clinica?prune=true", "application/x-tar", tarOf(t, "a.md", "# A\n\nuno")))
	if field[int](t, w, "removed") != 2 {
		t.Fatalf("pruned: %s", w.Body)
	}
}

func TestSearchAndEvalBase(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.must(http.StatusOK, l.send(http.MethodPut, "/v1/knowledge/clinica", "application/x-tar",
		tarOf(t, "tarifas.md", "# Tarifas\n\n## Revisión\n\nLa revisión cuesta 60 euros.", "horarios.md", "# Horarios\n\nAbrimos los sábados.")))
	ask := func(query string) *httptest.ResponseRecorder {
		return l.ask(l.cfg, http.MethodGet, "/v1/knowledge/clinica/search?"+query)
	}
	l.must(http.StatusServiceUnavailable, ask("q=revisión"))
	l.shelve()
	w := l.must(http.StatusOK, ask("q=cuánto+cuesta+la+revisión"))
	found := field[[]v1.FoundPassage](t, w, "passages")
	if len(found) == 0 || found[0].Heading != "Tarifas › Revisión" || found[0].Hits[0].Fused != 1 || found[0].Hits[0].WordRank != 1 || found[0].Format != 1 {
		t.Fatalf("found: %s", w.Body)
	}
	if w := l.must(http.StatusOK, ask("q=veleros")); len(field[[]v1.FoundPassage](t, w, "passages")) != 0 || field[string](t, w, "evidence") != "none" {
		t.Fatalf("found nothing: %s", w.Body)
	}
	l.must(http.StatusBadRequest, ask("q="))
	l.must(http.StatusBadRequest, ask("q=a&k=0"))
	l.must(http.StatusNotFound, l.ask(l.cfg, http.MethodGet, "/v1/knowledge/nada/search?q=a"))

	w = l.must(http.StatusOK, l.send(http.MethodPost, "/v1/knowledge/clinica/eval", "application/json",
		[]byte(`[{"asks":"¿Cuánto cuesta la revisión?","expects":"tarifas › revision"},{"asks":"¿Abren los sábados?","expects":"Nada"}]`)))
	if field[float64](t, w, "recall_at_k") != 0.5 || len(field[[]golden.Miss](t, w, "misses")) != 1 {
		t.Fatalf("evaluated: %s", w.Body)
	}
	l.must(http.StatusBadRequest, l.send(http.MethodPost, "/v1/knowledge/clinica/eval", "application/json", []byte(`{}`)))
	l.must(http.StatusUnsupportedMediaType, l.send(http.MethodPost, "/v1/knowledge/clinica/eval", "text/plain", []byte(`[]`)))

	l.dim = 64 // the agents ask another embedder than made the vectors
	for path, w := range map[string]*httptest.ResponseRecorder{
		"search": ask("q=revisión"),
		"eval":   l.send(http.MethodPost, "/v1/knowledge/clinica/eval", "application/json", []byte(`[{"asks":"revisión","expects":"Tarifas"}]`)),
	} {
		if l.must(http.StatusConflict, w); field[string](t, w, "code") != "embedder" || !strings.Contains(w.Body.String(), "headstart docs reembed clinica") {
			t.Fatalf("%s with another embedder: %s", path, w.Body)
		}
	}

	zero := 0
	if err := l.store.SetQuota(t.Context(), calllog.DefaultOrg, knowledge.Quota{KnowledgeChunks: &zero}); err != nil {
		t.Fatal(err)
	}
	l.shelve()
	if w := l.must(http.StatusConflict, ask("q=revisión")); field[string](t, w, "code") != "quota" {
		t.Fatalf("at quota zero: %s", w.Body)
	}
}

// Nobody without the key, and no page of others, reaches the documents.
func TestKnowledgeIsGuarded(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.must(http.StatusMisdirectedRequest, l.ask(l.cfg, http.MethodGet, "/v1/knowledge", host("evil.example")))
	l.cfg.Key = "secret"
	l.must(http.StatusUnauthorized, l.send(http.MethodPut, "/v1/knowledge/clinica", "application/x-tar", tarOf(t)))
	l.must(http.StatusOK, l.ask(l.cfg, http.MethodGet, "/v1/knowledge", header("Authorization", "Bearer secret")))
	l.cfg = v1.Config{}
	l.must(http.StatusNotFound, l.ask(l.cfg, http.MethodGet, "/v1/knowledge"))
}
