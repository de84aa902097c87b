package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
	v1 "headstart/worker/api/v1"
)

func docsListCommand() *cobra.Command {
	var o docsStore
	cmd := &cobra.Command{
		Use:   "list [BASE]",
		Short: "The bases of the store; with BASE, its files",
		Example: `  headstart docs list
  headstart docs list clinica --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(db database) error {
				if len(args) == 0 {
					bases, err := db.Bases(cmd.Context(), o.org)
					return errors.Join(err, writeBases(cmd.OutOrStdout(), bases, o.asJSON))
				}
				_, files, err := db.Files(cmd.Context(), o.org, args[0])
				if err != nil {
					return known(err, args[0])
				}
				return writeFiles(cmd.OutOrStdout(), files, o.asJSON)
			})
		},
	}
	o.flags(cmd)
	return cmd
}

func writeBases(out io.Writer, bases []knowledge.Base, asJSON bool) error {
	if asJSON {
		for _, b := range bases {
			if err := writeObject(out, v1.WireBase(b)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(bases) == 0 {
		_, err := fmt.Fprintln(out, "no bases yet; headstart docs push DIR --base NAME makes one")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BASE\tLANGUAGE\tFILES\tCHUNKS\tEMBEDDER\tCALIBRATED\tUPDATED")
	for _, b := range bases {
		calibrated := "no"
		if b.Calibration != nil {
			calibrated = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", b.Name, b.Language, b.Files, b.Chunks, vectorsOf(b), calibrated, b.Updated.Local().Format(time.DateTime))
	}
	return table.Flush()
}

func vectorsOf(b knowledge.Base) string {
	if b.Model == "" {
		return "none: words alone"
	}
	return fmt.Sprintf("%s (%d)", b.Model, b.Dim)
}

func writeFiles(out io.Writer, files []knowledge.File, asJSON bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "FILE\tBYTES\tCHUNKS\tUPDATED")
	}
	for _, f := range files {
		if asJSON {
			if err := writeObject(out, v1.WireFile(f)); err != nil {
				return err
			}
			continue
		}
		old := ""
		if f.Format != chunk.Format {
			old = "  (cut by an older version; the next push cuts it again)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s%s\n", f.Path, f.Bytes, f.Chunks, f.Updated.Local().Format(time.DateTime), old)
	}
	return table.Flush()
}

func docsRemoveCommand() *cobra.Command {
	var o docsStore
	cmd := &cobra.Command{
		Use:   "rm BASE [FILE...]",
		Short: "Remove a base, or files of it",
		Long: `Removes a base with all that belongs to it, or the files that are named, by their
paths in the base. What was embedded stays kept for 30 days: pushing the same again
costs no embedder.`,
		Example: `  headstart docs rm clinica faq/horarios.md
  headstart docs rm clinica`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(db database) error {
				base, files := args[0], args[1:]
				if len(files) == 0 {
					if err := db.Remove(cmd.Context(), o.org, base); err != nil {
						return known(err, base)
					}
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", base)
					return err
				}
				for _, path := range files {
					if _, err := (knowledge.Push{Store: db, Org: o.org, Base: base}).Delete(cmd.Context(), path); err != nil {
						return known(err, base)
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s is removed from %s\n", path, base)
				}
				return nil
			})
		},
	}
	o.flags(cmd)
	return cmd
}
