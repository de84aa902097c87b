package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Bounds of a PDF. A page of prose takes about 0.1 s of one core.
const (
	maxPDFTime     = 2 * time.Minute
	maxPDFMemory   = 512 << 20 // bytes that the sandbox may hold, file and all
	wasmPage       = 64 << 10
	readyPDFWithin = 30 * time.Second
)

// SlowError refuses a PDF that was not read within a time.
type SlowError struct{ After time.Duration }

// Error says how long it was given.
func (e SlowError) Error() string {
	return fmt.Sprintf("not read within %v: split it, or print it to a new PDF", e.After)
}

// pdfEngine is a sandbox factory: each file gets a sandbox of its own.
type pdfEngine struct{ pool pdfium.Pool }

// newPDFEngine makes the parser ready, on the interpreter of wazero: compiling it
// to machine code takes five times the time and half as much memory again, and
// would pay only from some hundred pages. It is given no files.
func newPDFEngine(ctx context.Context) (*pdfEngine, error) {
	config := wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).
		WithMemoryLimitPages(maxPDFMemory / wasmPage)
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config,
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("start PDF parser: %w", err)
	}
	return &pdfEngine{pool}, nil
}

func (e *pdfEngine) close() error {
	if err := e.pool.Close(); err != nil {
		return fmt.Errorf("close PDF parser: %w", err)
	}
	return nil
}

// readPDF reads the text of each page, in the order of the page's own layout.
// Pages are paragraphs.
func (r *Reader) readPDF(ctx context.Context, data []byte) (string, error) {
	if r.pdf == nil {
		// The parser outlives this file: the next one uses it, under its own ctx.
		engine, err := newPDFEngine(context.WithoutCancel(ctx))
		if err != nil {
			return "", err
		}
		r.pdf = engine
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxPDFTime, SlowError{maxPDFTime})
	defer cancel()
	return r.pdf.read(ctx, data)
}

func (e *pdfEngine) read(ctx context.Context, data []byte) (text string, err error) {
	ready, cancel := context.WithTimeout(ctx, readyPDFWithin)
	defer cancel()
	sandbox, err := e.pool.GetInstanceWithContext(ready)
	if ctx.Err() != nil {
		return "", errors.Join(context.Cause(ctx), closeUnused(sandbox))
	}
	if err != nil {
		return "", fmt.Errorf("start PDF sandbox: %w", err)
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = sandbox.Kill() // it is gone either way
	})
	text, err = pages(sandbox, data)
	if !stop() {
		<-killed
		return "", context.Cause(ctx)
	}
	return text, errors.Join(err, closeSandbox(sandbox, err))
}

func closeUnused(sandbox pdfium.Pdfium) error {
	if sandbox == nil {
		return nil
	}
	return closeSandbox(sandbox, nil)
}

// closeSandbox frees a sandbox. One that a file has crashed cannot say goodbye,
// and its memory goes all the same.
func closeSandbox(sandbox pdfium.Pdfium, read error) error {
	err := sandbox.Close()
	if err != nil && read == nil {
		return fmt.Errorf("close PDF sandbox: %w", err)
	}
	return nil
}

func pages(sandbox pdfium.Pdfium, data []byte) (string, error) {
	doc, err := sandbox.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword), errors.Is(err, pdferrors.ErrSecurity):
		return "", ErrLocked
	case err != nil:
		return "", BrokenError{"PDF", err}
	}
	count, err := sandbox.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return "", BrokenError{"PDF", err}
	}
	var text strings.Builder
	for i := range count.PageCount {
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}
		got, err := sandbox.GetPageText(&requests.GetPageText{Page: page})
		if err != nil {
			return "", BrokenError{"PDF", fmt.Errorf("page %d: %w", i+1, err)}
		}
		if text.Len()+len(got.Text) > MaxText {
			return "", ErrTooLarge
		}
		text.WriteString(strings.TrimSpace(pdfLines.Replace(got.Text)))
		text.WriteString("\n\n")
	}
	return prose(text.String()), nil
}

// pdfLines joins the words that the parser says were hyphenated at a line's end,
// and makes list marks Markdown's.
var pdfLines = strings.NewReplacer(
	"\uFFFE\r\n", "", "\uFFFE", "", "\u0002\r\n", "", "\u0002", "", "\u00AD\r\n", "",
	"\r\n• ", "\n- ", "\r\n•", "\n- ", "\r\n", "\n", "\r", "\n", "\x00", "",
)
