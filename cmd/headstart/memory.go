package main

import "github.com/spf13/cobra"

// memoryCommand is the parent of what is asked of memories; each subcommand has a
// file of its own.
func memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "How well memories are recalled and learned, and what in them looks wrong",
		Example: `  headstart memory audit
  headstart memory eval recall.json --agent agent.yaml
  headstart memory bench --format locomo locomo10.json --arm words`,
	}
	cmd.AddCommand(memoryBenchCommand(), memoryEvalCommand(), memoryAuditCommand())
	return cmd
}
