package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
	v1 "headstart/worker/api/v1"
)

func docsReembedCommand() *cobra.Command {
	var o docsStore
	var embedder embedderFlags
	cmd := &cobra.Command{
		Use:   "reembed BASE",
		Short: "Give a base the vectors of another embedder",
		Long: `Embeds every text of a base with another embedder while the base is searched with its
old vectors, then adopts the new ones in one step. What breaks off goes on where it
broke when it is run again. The calibration of the old embedder is dropped. Agents that
read the base need the new embedder from then on: those that have it ask the new vectors
within a second; for the others the words of the base answer alone, which their workers
log, until their files name it and they start again.`,
		Example: `  headstart docs reembed clinica --embedder openai --embedder-model text-embedding-3-small
  headstart docs reembed clinica --agent clinica.yaml`,
		Args: oneArgument("one base"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(db database) error {
				e, err := embedder.open(cmd.Context())
				if err != nil {
					return err
				}
				tell := progressOn(cmd.ErrOrStderr(), o.asJSON)
				r := knowledge.Reembed{Store: db, Org: o.org, Base: args[0], Embedder: e, Progress: func(p knowledge.Progress) {
					tell(knowledge.Progress{Stage: embedding, Done: min(p.Embedded, p.Chunks), Files: p.Chunks, Embedded: p.Embedded})
				}}
				base, asked, err := r.Run(cmd.Context())
				tell(knowledge.Progress{})
				if err != nil {
					return known(err, args[0])
				}
				if o.asJSON {
					return writeObject(cmd.OutOrStdout(), v1.WireBase(base))
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d chunks with vectors of %s, %d texts embedded\n", base.Name, base.Chunks, vectorsOf(base), asked)
				return err
			})
		},
	}
	o.flags(cmd)
	embedder.flags(cmd)
	return cmd
}

// docsStatus is what docs status --json tells.
type docsStatus struct {
	Store string    `json:"store"`
	Words string    `json:"words"` // how words are ranked in bases too large for memory
	Bases []v1.Base `json:"bases"`
	Quota *int      `json:"knowledge_chunks"` // null is without limit
	Held  int       `json:"chunks"`
}

func docsStatusCommand() *cobra.Command {
	var o docsStore
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Where the bases are kept, how they are searched, and how much of the quota they take",
		Example: `  headstart docs status
  headstart docs status --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(db database) error {
				s, bases, err := o.status(cmd, db)
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if o.asJSON {
					return writeObject(out, s)
				}
				fmt.Fprintf(out, "store   %s\nwords   %s\n", s.Store, s.Words)
				limit := "no limit"
				if s.Quota != nil {
					limit = fmt.Sprintf("at most %d", *s.Quota)
					if *s.Quota == 0 {
						limit = "none allowed: nothing is searched"
					}
				}
				fmt.Fprintf(out, "chunks  %d, %s\n\n", s.Held, limit)
				return writeBases(out, bases, false)
			})
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *docsStore) status(cmd *cobra.Command, db database) (docsStatus, []knowledge.Base, error) {
	ctx := cmd.Context()
	bases, err := db.Bases(ctx, o.org)
	quota, quotaErr := db.Quota(ctx, o.org)
	if err := errors.Join(err, quotaErr); err != nil {
		return docsStatus{}, nil, err
	}
	s := docsStatus{Store: "SQLite in " + o.data, Words: "BM25 in memory", Bases: []v1.Base{}, Quota: quota.KnowledgeChunks}
	if server, ok := db.(*postgres.DB); ok {
		status, err := server.Status(ctx)
		if err != nil {
			return docsStatus{}, nil, err
		}
		s.Store = fmt.Sprintf("PostgreSQL %s with pgvector %s", status.Server, status.Vector)
		s.Words = "BM25 in memory; in bases that are too large for it: " + status.Words()
	}
	for _, b := range bases {
		s.Bases, s.Held = append(s.Bases, v1.WireBase(b)), s.Held+b.Chunks
	}
	return s, bases, nil
}
