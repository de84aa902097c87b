package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

const (
	// testerHits is how many passages the tester shows, and testerLines how much of
	// each.
	testerHits  = 6
	testerLines = 4
)

// docsSearch is what docs search was asked.
type docsSearch struct {
	docsStore
	bases    []string
	before   []string
	k        int
	embedder embedderFlags
}

func docsSearchCommand() *cobra.Command {
	var o docsSearch
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "What an agent would be handed for a question, and why",
		Long: `Searches bases as a call does, and shows each passage with what both branches make
of it: the cosine of its vector with the question's, its BM25, and its place once both
were fused. Absent is what a branch has nothing to say to. v1 is the format in which the
file was cut. Without --base all bases are searched together, as an agent that reads
them all would.

The question is asked as it stands. --before asks a follow-up with the caller's turns
before it.`,
		Example: `  headstart docs search "¿Cuánto cuesta la revisión?" --base clinica
  headstart docs search "¿y la segunda?" --before "¿Cuánto cuesta la revisión?" --base clinica --json`,
		Args: oneArgument("one question, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(db database) error {
				found, err := o.search(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				if o.asJSON {
					return writeObject(cmd.OutOrStdout(), found)
				}
				return found.write(cmd.OutOrStdout())
			})
		},
	}
	o.flags(cmd)
	o.embedder.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.bases, "base", nil, "`NAME` of a base to search; may be given more than once")
	f.StringArrayVar(&o.before, "before", nil, "a `TURN` of the caller before the question, oldest first; may be given more than once")
	f.IntVarP(&o.k, "k", "k", testerHits, "passages to show")
	return cmd
}

// found is what a search came to.
type found struct {
	Question string             `json:"question"`
	Bases    []string           `json:"bases"`
	Evidence retrieval.Evidence `json:"evidence"`
	Cosine   float64            `json:"cosine"`
	Branches []retrieval.Branch `json:"branches"`
	Degraded string             `json:"degraded,omitempty"`
	Followed bool               `json:"followed"`
	Passages []foundPassage     `json:"passages"`
}

type foundPassage struct {
	Base    string     `json:"base"`
	Path    string     `json:"path"`
	Heading string     `json:"heading"`
	Score   float64    `json:"score"`
	Format  int        `json:"format"`
	Text    string     `json:"text"`
	Hits    []foundHit `json:"hits"`
}

type foundHit struct {
	ID         string  `json:"id"`
	Vectors    float64 `json:"vectors"`
	VectorRank int     `json:"vector_rank"`
	Words      float64 `json:"words"`
	WordRank   int     `json:"word_rank"`
	Fused      int     `json:"fused"` // its place, from 1
}

func (o *docsSearch) search(ctx context.Context, db database, question string) (found, error) {
	library, formats, err := o.load(ctx, db)
	if err != nil {
		return found{}, err
	}
	e, err := o.open(ctx, library)
	if err != nil {
		return found{}, err
	}
	q := retrieval.Query{Org: o.org, Text: question, K: max(1, o.k), Before: o.before, Ranks: true}
	for _, base := range o.bases {
		q.Bases = append(q.Bases, retrieval.Attachment{Base: base, K: q.K})
	}
	searcher := retrieval.NewSearcher(library, e)
	r, err := searcher.Search(ctx, q)
	if err != nil {
		return found{}, err
	}
	ranked, err := searcher.Rank(ctx, retrieval.Ranking{Query: q, Depth: retrieval.Pool})
	if err != nil {
		return found{}, err
	}
	return o.tell(question, r, ranked, formats), nil
}

// load brings the bases into memory, and tells in which format each file of
// theirs was cut.
func (o *docsSearch) load(ctx context.Context, db database) (*retrieval.Library, map[string]int, error) {
	if len(o.bases) == 0 {
		all, err := db.Bases(ctx, o.org)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range all {
			o.bases = append(o.bases, b.Name)
		}
		if len(all) == 0 {
			return nil, nil, errors.New("no bases yet; headstart docs push DIR --base NAME makes one")
		}
	}
	library, formats := &retrieval.Library{}, make(map[string]int)
	for _, base := range o.bases {
		_, segment, err := knowledge.Load(ctx, db, o.org, base)
		if err != nil {
			return nil, nil, known(err, base)
		}
		library.Put(o.org, segment)
		_, files, err := db.Files(ctx, o.org, base)
		if err != nil {
			return nil, nil, known(err, base)
		}
		for _, f := range files {
			formats[base+"/"+f.Path] = f.Format
		}
	}
	return library, formats, nil
}

// open makes the embedder that the flags name, else the one that the first base
// with vectors names; nil where none has any.
func (o *docsSearch) open(ctx context.Context, library *retrieval.Library) (retrieval.Embedder, error) {
	for _, base := range o.bases {
		segment, ok := library.Get(o.org, base)
		if !ok {
			continue
		}
		if model, dim := segment.Model(); model != "" {
			e, err := o.embedder.of(model, dim).open(ctx)
			if err != nil {
				return nil, fmt.Errorf("base %s was embedded with %s: %w", base, model, err)
			}
			return e, nil
		}
	}
	return nil, nil
}

func (o *docsSearch) tell(question string, r retrieval.Result, ranked retrieval.Ranked, formats map[string]int) found {
	f := found{
		Question: question, Bases: o.bases, Evidence: r.Evidence, Cosine: r.Cosine, Branches: r.Branches, Followed: r.Followed,
		Passages: []foundPassage{},
	}
	if r.Degraded != nil {
		f.Degraded = r.Degraded.Error()
	}
	place := func(base, id string) int {
		return 1 + slices.IndexFunc(ranked.Chunks, func(c retrieval.RankedChunk) bool { return c.Base == base && c.Chunk.ID == id })
	}
	for _, p := range r.Passages {
		shown := foundPassage{Base: p.Base, Path: p.Path, Heading: p.Heading, Score: p.Score, Format: formats[p.Base+"/"+p.Path], Text: p.Text}
		for _, h := range p.Hits {
			shown.Hits = append(shown.Hits, foundHit{h.ID, h.Cosine, h.VectorRank, h.BM25, h.WordRank, place(p.Base, h.ID)})
		}
		f.Passages = append(f.Passages, shown)
	}
	return f
}

func (f found) write(out io.Writer) error {
	if f.Degraded != "" {
		fmt.Fprintf(out, "from the words alone: %s\n\n", f.Degraded)
	}
	if len(f.Passages) == 0 {
		_, err := fmt.Fprintln(out, "Nothing relevant found: the agent would say it doesn't know.")
		return err
	}
	for i, p := range f.Passages {
		fmt.Fprintf(out, "%d  %s: %s\n", i+1, p.Base, p.Path)
		for _, h := range p.Hits {
			fmt.Fprintf(out, "   %s, v%d\n", h, p.Format)
		}
		if p.Heading != "" {
			fmt.Fprintf(out, "   Context: %s\n", p.Heading)
		}
		for _, line := range firstLines(p.Text) {
			fmt.Fprintf(out, "   | %s\n", line)
		}
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out, "evidence %s, best cosine %.2f, searched by %s\n", f.Evidence, f.Cosine, branchNames(f.Branches))
	return err
}

// String is what the branches make of a hit; what one has nothing to say to is
// left out.
func (h foundHit) String() string {
	var parts []string
	if h.Vectors != 0 {
		parts = append(parts, fmt.Sprintf("vectors %.2f", h.Vectors))
	}
	if h.Words != 0 {
		parts = append(parts, fmt.Sprintf("words %.2f", h.Words))
	}
	if h.Fused > 0 {
		parts = append(parts, fmt.Sprintf("fused #%d", h.Fused))
	}
	return strings.Join(parts, ", ")
}

func branchNames(branches []retrieval.Branch) string {
	var names []string
	for _, b := range branches {
		names = append(names, string(b))
	}
	return strings.Join(names, " and ")
}

// firstLines are those of a text that the tester shows.
func firstLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" && len(lines) == 0 {
			continue
		}
		if len(lines) == testerLines {
			return append(lines, "…")
		}
		lines = append(lines, cutAt(line, 160))
	}
	return lines
}

// cutAt shortens a line to so many characters.
func cutAt(line string, n int) string {
	if runes := []rune(line); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return line
}
