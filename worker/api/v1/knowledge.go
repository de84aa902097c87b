package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/golden"
	"headstart/retrieval/knowledge"
	"headstart/retrieval/read"
)

// Bases is what operators do with documents: a knowledge.Store, and the
// embedders of the process.
type Bases struct {
	Store knowledge.Target
	// Embedder is the one that a base is embedded with. b has a name alone when there
	// is no such base yet; nil and no error make it one of words alone.
	Embedder func(ctx context.Context, b knowledge.Base) (retrieval.Embedder, error)
	// Searcher searches a base, as its agents would, with the embedder of its vectors.
	Searcher func(ctx context.Context, b knowledge.Base) (*retrieval.Searcher, error)
	// Scratch is a folder for what is uploaded, while it is; empty is the system's.
	Scratch string
}

const (
	// pushWithin bounds a push: a vendor's embedder takes minutes for a large folder.
	pushWithin = 30 * time.Minute
	// maxPushes is how many pushes run at once: each holds some files in memory.
	maxPushes = 4
)

var (
	noBases    = refusal{http.StatusNotFound, "knowledge", "This server keeps no documents."}
	noBase     = refusal{http.StatusNotFound, "base", "There is no such base."}
	noFile     = refusal{http.StatusNotFound, "file", "The base has no such file."}
	noQuestion = refusal{http.StatusBadRequest, "q", "Ask something: ?q=…"}
	notReady   = refusal{http.StatusServiceUnavailable, "not_ready", "The base is not in memory yet. Try again in a second."}
	silent     = refusal{http.StatusConflict, "quota", "The org may hold no chunks: nothing is searched."}
	tooBig     = refusal{http.StatusRequestEntityTooLarge, "size", fmt.Sprintf("At most %d MiB a file, and %d MiB a folder once it is unpacked.", read.MaxFile>>20, maxFolder>>20)}
	pushesBusy = refusal{http.StatusServiceUnavailable, "pushes", "Too many pushes are running. Try again in a while."}
)

// Base is a knowledge.Base as the wire carries it.
type Base struct {
	Base        string                 `json:"base"`
	Language    string                 `json:"language"`
	Embedder    string                 `json:"embedder"`
	Dim         int                    `json:"dim"`
	Files       int                    `json:"files"`
	Chunks      int                    `json:"chunks"`
	Revision    int64                  `json:"revision"`
	Updated     time.Time              `json:"updated"`
	Calibration *retrieval.Calibration `json:"calibration,omitempty"`
}

// WireBase is a base for the wire.
func WireBase(b knowledge.Base) Base {
	return Base{b.Name, b.Language, b.Model, b.Dim, b.Files, b.Chunks, b.Revision, b.Updated.UTC(), b.Calibration}
}

// File is a knowledge.File as the wire carries it.
type File struct {
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`
	Chunks  int       `json:"chunks"`
	SHA256  string    `json:"sha256"`
	Format  int       `json:"format"` // in which it was cut
	Updated time.Time `json:"updated"`
}

// WireFile is a file for the wire.
func WireFile(f knowledge.File) File {
	return File{f.Path, f.Bytes, f.Chunks, fmt.Sprintf("%x", f.SHA256), f.Format, f.Updated.UTC()}
}

// Pushed is what a push did, as the wire carries it.
type Pushed struct {
	Base     string    `json:"base"`
	Files    int       `json:"files"` // that were found
	Put      int       `json:"put"`
	Kept     int       `json:"kept"`
	Removed  int       `json:"removed"`
	Refused  []LeftOut `json:"refused"`
	Chunks   int       `json:"chunks"`   // of the base
	Oversize int       `json:"oversize"` // pieces that may not be cut
	Embedded int       `json:"embedded"` // texts
	Reused   int       `json:"reused"`
	Embedder string    `json:"embedder"`
	Revision int64     `json:"revision"`
}

// LeftOut is a file that is not in the base, or is there as it was before.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// WirePushed is a push's report for the wire.
func WirePushed(r knowledge.Report) Pushed {
	p := Pushed{
		Base: r.Base.Name, Files: r.Files, Put: r.Put, Kept: r.Kept, Removed: r.Removed, Refused: []LeftOut{}, Chunks: r.Base.Chunks,
		Oversize: r.Oversize, Embedded: r.Embedded, Reused: r.Reused, Embedder: r.Base.Model, Revision: r.Base.Revision,
	}
	for _, f := range r.Refused {
		p.Refused = append(p.Refused, LeftOut{f.Path, f.Err.Error()})
	}
	return p
}

// routeKnowledge adds what is asked of bases.
func (s *Server) routeKnowledge(mux *http.ServeMux) {
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /v1/knowledge":                           s.listBases,
		"GET /v1/knowledge/{base}":                    s.showBase,
		"PUT /v1/knowledge/{base}":                    s.pushing(s.putBase),
		"DELETE /v1/knowledge/{base}":                 s.deleteBase,
		"PUT /v1/knowledge/{base}/files/{path...}":    s.pushing(s.putFile),
		"DELETE /v1/knowledge/{base}/files/{path...}": s.deleteFile,
		"GET /v1/knowledge/{base}/search":             s.searchBase,
		"POST /v1/knowledge/{base}/eval":              s.evalBase,
	} {
		mux.HandleFunc(pattern, served(s.cfg.Bases != nil, noBases, handle))
	}
}

// listBases answers GET /v1/knowledge.
func (s *Server) listBases(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	list, err := s.cfg.Bases.Store.Bases(ctx, s.cfg.Org)
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	bases := make([]Base, 0, len(list))
	for _, b := range list {
		bases = append(bases, WireBase(b))
	}
	answer(w, http.StatusOK, map[string]any{"bases": bases})
}

// showBase answers GET /v1/knowledge/{base} with its files.
func (s *Server) showBase(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	b, list, err := s.cfg.Bases.Store.Files(ctx, s.cfg.Org, r.PathValue("base"))
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	files := make([]File, 0, len(list))
	for _, f := range list {
		files = append(files, WireFile(f))
	}
	answer(w, http.StatusOK, struct {
		Base
		List []File `json:"list"`
	}{WireBase(b), files})
}

// deleteBase answers DELETE /v1/knowledge/{base}.
func (s *Server) deleteBase(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	if err := s.cfg.Bases.Store.Remove(ctx, s.cfg.Org, r.PathValue("base")); err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// deleteFile answers DELETE /v1/knowledge/{base}/files/{path}.
func (s *Server) deleteFile(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	push := knowledge.Push{Store: s.cfg.Bases.Store, Org: s.cfg.Org, Base: r.PathValue("base")}
	if _, err := push.Delete(ctx, r.PathValue("path")); err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// searchBase answers GET /v1/knowledge/{base}/search?q=&before=&k=&written=: the
// retrieval tester. written=true asks as a chat does, with the reranker of the agent.
func (s *Server) searchBase(w http.ResponseWriter, r *http.Request) {
	k, err := numberIn(r.FormValue("k"), retrieval.DefaultK, 1, 100)
	switch {
	case err != nil:
		refuse(w, badNumber("k"))
		return
	case r.FormValue("q") == "":
		refuse(w, noQuestion)
		return
	}
	ctx, cancel := patience(r.Context())
	defer cancel()
	b, files, searcher, err := s.searched(ctx, r.PathValue("base"))
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	q := retrieval.Query{
		Org: s.cfg.Org, Text: r.FormValue("q"), Before: r.Form["before"], K: int(k), Ranks: true, Written: r.FormValue("written") == "true",
		Bases: []retrieval.Attachment{{Base: b.Name, K: int(k)}},
	}
	found, err := Find(ctx, searcher, q, func(_, path string) int { return formatOf(files, path) })
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	answer(w, http.StatusOK, found)
}

// searched is a base, its files and what searches it.
func (s *Server) searched(ctx context.Context, name string) (knowledge.Base, []knowledge.File, *retrieval.Searcher, error) {
	b, files, err := s.cfg.Bases.Store.Files(ctx, s.cfg.Org, name)
	if err != nil {
		return knowledge.Base{}, nil, nil, err
	}
	searcher, err := s.cfg.Bases.Searcher(ctx, b)
	return b, files, searcher, err
}

func formatOf(files []knowledge.File, path string) int {
	for _, f := range files {
		if f.Path == path {
			return f.Format
		}
	}
	return 0
}

// evalBase answers POST /v1/knowledge/{base}/eval?k= with how well the base answers
// a golden: [{asks, expects}].
func (s *Server) evalBase(w http.ResponseWriter, r *http.Request) {
	k, err := numberIn(r.FormValue("k"), retrieval.DefaultK, 1, 100)
	switch {
	case err != nil:
		refuse(w, badNumber("k"))
		return
	case !isJSON(r):
		refuse(w, noJSON)
		return
	}
	questions, err := golden.Read(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		refuse(w, refusal{http.StatusBadRequest, "golden", fmt.Sprintf("Send [{asks, expects}]: %v.", err)})
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), evalWithin, errors.New("not evaluated within "+evalWithin.String()))
	defer cancel()
	b, _, searcher, err := s.searched(ctx, r.PathValue("base"))
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	report, err := golden.Eval(ctx, searcher, golden.Evaluation{Org: s.cfg.Org, Base: b.Name, K: int(k)}, questions)
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	answer(w, http.StatusOK, report)
}

// knowledgeFailed refuses what went wrong with a base: what who asked can mend in
// the words of the error, the rest as a store that did not answer.
func (s *Server) knowledgeFailed(w http.ResponseWriter, err error) {
	if r, ok := knowledgeRefusal(err); ok {
		refuse(w, r)
		return
	}
	s.storeFailed(w, err)
}

func knowledgeRefusal(err error) (refusal, bool) {
	said := func(status int, code string, err error) (refusal, bool) {
		return refusal{status, code, err.Error()}, true
	}
	if e, ok := errors.AsType[retrieval.ErrMismatch](err); ok {
		return said(http.StatusConflict, "embedder", e)
	}
	if e, ok := errors.AsType[knowledge.QuotaError](err); ok {
		return said(http.StatusConflict, "quota", e)
	}
	if e, ok := errors.AsType[knowledge.PruneError](err); ok {
		return refusal{http.StatusConflict, "prune", e.Error() + ". Over HTTP: ?prune=true"}, true
	}
	if e, ok := errors.AsType[knowledge.NameError](err); ok {
		return said(http.StatusBadRequest, "name", e)
	}
	if e, ok := errors.AsType[retrieval.FileError](err); ok {
		return said(http.StatusUnprocessableEntity, "file", e)
	}
	if _, ok := errors.AsType[retrieval.ErrNotReady](err); ok {
		return notReady, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, errTooBig) {
		return tooBig, true
	}
	switch {
	case errors.Is(err, knowledge.ErrUnknownBase):
		return noBase, true
	case errors.Is(err, knowledge.ErrUnknownFile):
		return noFile, true
	case errors.Is(err, retrieval.ErrNoBase):
		return silent, true
	}
	return refusal{}, false
}

// pushing runs a push with the time that it may take, if not too many run.
func (s *Server) pushing(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.pushes <- struct{}{}:
			defer func() { <-s.pushes }()
		default:
			refuse(w, pushesBusy)
			return
		}
		ctx, cancel := context.WithTimeoutCause(r.Context(), pushWithin, errors.New("not pushed within "+pushWithin.String()))
		defer cancel()
		next(w, r.WithContext(ctx))
	}
}

// push is a push to the base that the request names, as its agents embed it.
func (s *Server) push(r *http.Request) (knowledge.Push, error) {
	name := r.PathValue("base")
	b, _, err := s.cfg.Bases.Store.Files(r.Context(), s.cfg.Org, name)
	if errors.Is(err, knowledge.ErrUnknownBase) {
		b, err = knowledge.Base{Org: s.cfg.Org, Name: name}, knowledge.CheckName(name)
	}
	if err != nil {
		return knowledge.Push{}, err
	}
	e, err := s.cfg.Bases.Embedder(r.Context(), b)
	if err != nil {
		return knowledge.Push{}, err
	}
	query := r.URL.Query()
	return knowledge.Push{
		Store: s.cfg.Bases.Store, Org: s.cfg.Org, Base: name, Embedder: e,
		Language: query.Get("language"), Prune: query.Get("prune") == "true",
	}, nil
}

func (s *Server) tellPushed(w http.ResponseWriter, r knowledge.Report, err error) {
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	s.log.Info("base pushed", zap.String("base", r.Base.Name), zap.Int("put", r.Put), zap.Int("kept", r.Kept), zap.Int("removed", r.Removed),
		zap.Int("refused", len(r.Refused)), zap.Int("embedded", r.Embedded), zap.Int("chunks", r.Base.Chunks))
	answer(w, http.StatusOK, WirePushed(r))
}
