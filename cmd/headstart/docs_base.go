package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"headstart/retrieval"
	"headstart/retrieval/golden"
	"headstart/retrieval/knowledge"
	"headstart/worker/calllog"
)

// docsBase says which base is evaluated, and by which golden: one that the store
// keeps, or a folder.
type docsBase struct {
	base, golden   string
	dir, language  string // of a folder
	data, database string // where the store is
	embedder       embedderFlags
	asJSON         bool
}

func (o *docsBase) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.base, "base", "", "`NAME` of the base")
	f.StringVar(&o.golden, "golden", "", "`FILE` of its golden: a JSON list of {\"asks\", \"expects\"}; - is the standard input")
	f.StringVar(&o.dir, "dir", "", "read the base from this `DIR` in place of the store")
	f.StringVar(&o.language, "language", "es", "`LANGUAGE` of the folder's documents")
	f.StringVar(&o.data, "data", envOr("HEADSTART_DATA", ".headstart"), "`DIR` of the store (HEADSTART_DATA)")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object")
	databaseFlag(cmd, &o.database)
	o.embedder.flags(cmd)
}

func (o *docsBase) check() error {
	var missing []error
	if o.base == "" && o.dir == "" {
		missing = append(missing, errors.New("--base NAME: which base is evaluated? or --dir DIR for a folder"))
	}
	if o.golden == "" {
		missing = append(missing, errors.New("--golden FILE: which questions are asked?"))
	}
	if o.base == "" {
		o.base = o.dir
	}
	if err := errors.Join(missing...); err != nil {
		return usageError{err}
	}
	return nil
}

// with opens the base and reads its golden for what is done with both.
func (o *docsBase) with(cmd *cobra.Command, do func(*readBase, []golden.Question) error) error {
	if err := o.check(); err != nil {
		return err
	}
	questions, err := o.questions(cmd.InOrStdin())
	if err != nil {
		return err
	}
	b, err := o.open(cmd)
	if err != nil {
		return err
	}
	return errors.Join(do(b, questions), b.close())
}

// questions reads the golden.
func (o *docsBase) questions(in io.Reader) ([]golden.Question, error) {
	if o.golden == "-" {
		return golden.Read(in)
	}
	file, err := os.Open(o.golden)
	if err != nil {
		return nil, fmt.Errorf("open golden: %w", err)
	}
	defer file.Close() // opened to read: closing it loses nothing
	questions, err := golden.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.golden, err)
	}
	return questions, nil
}

// read is a base that is evaluated.
type readBase struct {
	segment  *retrieval.Segment
	embedder retrieval.Embedder // nil where the base has no vectors
	store    database           // nil for a folder
}

func (b *readBase) close() error {
	if b.store == nil {
		return nil
	}
	return b.store.Close()
}

// library holds the base alone.
func (b *readBase) library() *retrieval.Library {
	lib := &retrieval.Library{}
	lib.Put(calllog.DefaultOrg, b.segment)
	return lib
}

func (o *docsBase) open(cmd *cobra.Command) (*readBase, error) {
	if o.dir != "" {
		return o.readFolder(cmd)
	}
	ctx := cmd.Context()
	db, err := openRecords(ctx, databaseOr(o.database), o.data)
	if err != nil {
		return nil, err
	}
	b := &readBase{store: db}
	if err := o.load(ctx, b); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return b, nil
}

func (o *docsBase) load(ctx context.Context, b *readBase) (err error) {
	_, b.segment, err = knowledge.Load(ctx, b.store, calllog.DefaultOrg, o.base)
	if errors.Is(err, knowledge.ErrUnknownBase) {
		return fmt.Errorf("no base %s; headstart docs list tells which there are", o.base)
	}
	if err != nil {
		return err
	}
	model, dim := b.segment.Model()
	if model == "" {
		return nil // the words answer alone
	}
	embedder, err := o.embedder.of(model, dim)
	if err != nil {
		return err
	}
	b.embedder, err = embedder.open(ctx)
	return err
}

func (o *docsBase) readFolder(cmd *cobra.Command) (*readBase, error) {
	e, err := o.embedder.open(cmd.Context())
	if err != nil {
		return nil, err
	}
	b := &readBase{embedder: e}
	progress := stagesOn(cmd.ErrOrStderr())
	var bad []retrieval.FileError
	b.segment, bad, err = retrieval.LoadFolder(cmd.Context(), o.dir, o.base, o.language, e, func(p retrieval.Progress) {
		if progress != nil && p.AllChunks > 0 {
			progress("embed", p.Embedded, p.AllChunks)
		}
	})
	for _, f := range bad {
		fmt.Fprintf(cmd.ErrOrStderr(), "left out: %v\n", f)
	}
	return b, err
}

// of completes flags that say nothing with what the name of a base's embedder says.
// Of a model on this machine that is not enough.
func (o embedderFlags) of(name string, dim int) (*embedderFlags, error) {
	if o.said() {
		return &o, nil
	}
	provider, model, _ := strings.Cut(name, "/")
	switch {
	case strings.HasPrefix(name, "hashing"):
		o.provider, o.options = "hashing", []string{"dim=" + strconv.Itoa(dim)}
	case provider == "openai" || provider == "voyage":
		o.provider, o.model = provider, model
	default:
		return nil, usageError{fmt.Errorf("the base holds vectors of %s, which does not tell whose model that is: name it with --embedder, or in an agent", name)}
	}
	return &o, nil
}
