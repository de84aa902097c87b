package main

import "github.com/spf13/cobra"

// docsCommand is the parent of what is done with documents; each subcommand has a
// file of its own.
func docsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "The documents that agents read, and how well they are found",
	}
	cmd.AddCommand(
		docsPushCommand(), docsListCommand(), docsAttachCommand(), docsSearchCommand(), docsStatusCommand(),
		docsReembedCommand(), docsRemoveCommand(),
		docsBenchCommand(), docsEvalCommand(), docsCalibrateCommand(),
	)
	return cmd
}
