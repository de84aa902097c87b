package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headstart/retrieval/knowledge"
)

func orgsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "orgs",
		Short: "What tenants may hold: their quotas of chunks and facts",
	}
	cmd.AddCommand(orgsListCommand(), orgsSetCommand())
	return cmd
}

func orgsListCommand() *cobra.Command {
	var o docsStore
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The orgs that have a quota or a base",
		Example: `  headstart orgs list
  headstart orgs list --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(db database) error {
				orgs, err := db.Orgs(cmd.Context())
				return errors.Join(err, writeOrgs(cmd.OutOrStdout(), orgs, o.asJSON))
			})
		},
	}
	o.place(cmd)
	return cmd
}

// listedOrg is an org as --json tells it; null is without limit.
type listedOrg struct {
	Org             string `json:"org"`
	Bases           int    `json:"bases"`
	Chunks          int    `json:"chunks"`
	KnowledgeChunks *int   `json:"knowledge_chunks"`
	MemoryFacts     *int   `json:"memory_facts"`
}

func writeOrgs(out io.Writer, orgs []knowledge.Org, asJSON bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "ORG\tBASES\tCHUNKS\tKNOWLEDGE CHUNKS\tMEMORY FACTS")
	}
	for _, o := range orgs {
		if asJSON {
			if err := writeObject(out, listedOrg{o.Name, o.Bases, o.Chunks, o.Quota.KnowledgeChunks, o.Quota.MemoryFacts}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", o.Name, o.Bases, o.Chunks, limitOf(o.Quota.KnowledgeChunks), limitOf(o.Quota.MemoryFacts))
	}
	return table.Flush()
}

func limitOf(n *int) string {
	if n == nil {
		return "no limit"
	}
	return strconv.Itoa(*n)
}

func orgsSetCommand() *cobra.Command {
	var o docsStore
	var chunks, facts string
	cmd := &cobra.Command{
		Use:   "set ORG",
		Short: "Set what an org may hold",
		Long: `Sets the quotas that are named and leaves the others. A push that would go over the
chunks is refused before it writes anything; what is held already stays. At 0 chunks
the org's agents search nothing, within a second, and their logs say nothing of it. At
its number of facts an org remembers nothing new, and what it holds is still recalled.`,
		Example: `  headstart orgs set default --knowledge-chunks 20000 --memory-facts 5000
  headstart orgs set default --knowledge-chunks none`,
		Args: oneArgument("one org"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chunks == "" && facts == "" {
				return usageError{errors.New("nothing to set: --knowledge-chunks N, --memory-facts N, or both; none lifts a limit")}
			}
			return o.making(cmd.Context(), func(db database) error {
				q, err := db.Quota(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if err := errors.Join(limitFrom("--knowledge-chunks", chunks, &q.KnowledgeChunks), limitFrom("--memory-facts", facts, &q.MemoryFacts)); err != nil {
					return usageError{err}
				}
				if err := db.SetQuota(cmd.Context(), args[0], q); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: knowledge chunks %s, memory facts %s\n", args[0], limitOf(q.KnowledgeChunks), limitOf(q.MemoryFacts))
				return err
			})
		},
	}
	o.place(cmd)
	cmd.Flags().StringVar(&chunks, "knowledge-chunks", "", "most chunks in all its bases, `N` or none")
	cmd.Flags().StringVar(&facts, "memory-facts", "", "most facts about all its contacts, `N` or none")
	return cmd
}

// limitFrom reads a limit; a flag that was not given leaves it.
func limitFrom(flag, text string, limit **int) error {
	switch text {
	case "":
		return nil
	case "none":
		*limit = nil
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%s %q: want a number of at least 0, or none", flag, text)
	}
	*limit = &n
	return nil
}
