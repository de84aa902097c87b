package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"headstart/retrieval/knowledge"
	"headstart/worker"
	v1 "headstart/worker/api/v1"
)

// docsPush is what docs push was asked.
type docsPush struct {
	docsStore
	base, language string
	embedder       embedderFlags
	prune, watch   bool
}

func docsPushCommand() *cobra.Command {
	var o docsPush
	cmd := &cobra.Command{
		Use:   "push DIR",
		Short: "Bring a folder of documents into a base",
		Long: `Reads the Markdown, text, HTML, PDF, DOCX, CSV and TSV files of a folder and of those
below it, cuts them at their headings, embeds what has changed since the last push, and
writes each file in one step: a search sees its old text or its new one. Files that are
gone from the folder leave the base; a push that would remove more than half of them is
refused without --prune. A file that cannot be read is told by name, and the others
land. Workers read the base anew within a second.

Agents must search a base with the embedder that made its vectors: --agent takes the
one, and the language, of an agent file.`,
		Example: `  headstart docs push ./knowledge --base clinica --agent clinica.yaml
  headstart docs push ./knowledge --base clinica --language es --embedder openai --embedder-model text-embedding-3-small
  headstart docs push ./knowledge --base clinica --watch`,
		Args: oneArgument("a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.base == "" {
				return usageError{errors.New("--base NAME: which base is the folder pushed to?")}
			}
			return o.making(cmd.Context(), func(db database) error { return o.run(cmd, db, args[0]) })
		},
	}
	o.docsStore.flags(cmd)
	o.embedder.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.base, "base", "", "`NAME` of the base; it is made when it is not there")
	f.StringVar(&o.language, "language", "", "`LANGUAGE` of the documents: es, en, pt, fr, de, it; any other is not stemmed; empty leaves the base's, and is "+knowledge.DefaultLanguage+" for a new one")
	f.BoolVar(&o.prune, "prune", false, "let the push remove more than half of the base's files")
	f.BoolVar(&o.watch, "watch", false, "push again whenever the folder changes, until interrupted")
	return cmd
}

func (o *docsPush) run(cmd *cobra.Command, db database, dir string) error {
	ctx := cmd.Context()
	push, err := o.push(ctx, db)
	if err != nil {
		return err
	}
	tell := progressOn(cmd.ErrOrStderr(), o.asJSON)
	push.Progress = tell
	if !o.watch {
		r, err := push.Dir(ctx, dir)
		tell(knowledge.Progress{})
		return errors.Join(err, writePushed(cmd.OutOrStdout(), cmd.ErrOrStderr(), r, err == nil, o.asJSON))
	}
	return push.Follow(ctx, dir, func(r knowledge.Report, err error) {
		tell(knowledge.Progress{})
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "headstart: %v\n", err)
		}
		_ = writePushed(cmd.OutOrStdout(), cmd.ErrOrStderr(), r, err == nil, o.asJSON) // nobody reads it any more: the push goes on
	})
}

// push is the push that the flags describe.
func (o *docsPush) push(ctx context.Context, db database) (knowledge.Push, error) {
	language := o.language
	if o.embedder.agent != "" && language == "" {
		a, err := readAgent(o.embedder.agent)
		if err != nil {
			return knowledge.Push{}, err
		}
		language = primary(a.Language)
	}
	e, err := o.embedder.open(ctx)
	if err != nil {
		return knowledge.Push{}, err
	}
	return knowledge.Push{Store: db, Org: o.org, Base: o.base, Embedder: e, Language: language, Prune: o.prune}, nil
}

func readAgent(path string) (worker.Agent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return worker.Agent{}, fmt.Errorf("read agent: %w", err)
	}
	a, err := worker.ParseAgent(text)
	if err != nil {
		return worker.Agent{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

func writePushed(out, complaints io.Writer, r knowledge.Report, whole, asJSON bool) error {
	if asJSON {
		if !whole {
			return nil
		}
		return writeObject(out, v1.WirePushed(r))
	}
	for _, f := range r.Refused {
		fmt.Fprintf(complaints, "left out: %v\n", f)
	}
	if !whole {
		return nil
	}
	if r.Oversize > 0 {
		fmt.Fprintf(complaints, "%d pieces are over the size of a chunk and could not be cut: code blocks or table rows\n", r.Oversize)
	}
	_, err := fmt.Fprintf(out, "%s: %d files written, %d as they were, %d removed, %d left out; %d texts embedded, %d reused; the base has %d chunks of %d files\n",
		r.Base.Name, r.Put, r.Kept, r.Removed, len(r.Refused), r.Embedded, r.Reused, r.Base.Chunks, r.Base.Files)
	return err
}

// progressOn tells how far a push is: a bar on a terminal, elsewhere a line each
// tenth of what takes long. The zero Progress ends it.
func progressOn(out io.Writer, quiet bool) func(knowledge.Progress) {
	switch {
	case isTerminal(out):
		return barOn(out)
	case quiet:
		return func(knowledge.Progress) {}
	}
	last := 0
	return func(p knowledge.Progress) {
		tenth := 10 * p.Done / max(1, p.Files)
		if tenth > last && (p.Stage == knowledge.Writing || p.Stage == embedding) {
			fmt.Fprintf(out, "%s: %d of %d\n", stageText(p), p.Done, p.Files)
		}
		last = tenth
	}
}

// embedding is the stage of a reembedding, whose Done and Files are texts.
const embedding knowledge.Stage = "embedding"

// stageText says what a push is at.
func stageText(p knowledge.Progress) string {
	switch {
	case p.Stage == embedding:
		return "embedding texts"
	case p.Embedded > 0:
		return fmt.Sprintf("%s files, %d texts embedded", p.Stage, p.Embedded)
	}
	return string(p.Stage) + " files"
}

func barOn(out io.Writer) func(knowledge.Progress) {
	var bar *progressbar.ProgressBar
	var stage knowledge.Stage
	return func(p knowledge.Progress) {
		if bar != nil && p.Stage != stage {
			_ = bar.Finish() // the terminal is gone: there is nobody to tell
			bar = nil
		}
		if p.Files == 0 {
			return
		}
		if bar == nil {
			stage = p.Stage
			bar = progressbar.NewOptions(p.Files, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true))
		}
		bar.Describe(stageText(p))
		_ = bar.Set(p.Done)
	}
}
