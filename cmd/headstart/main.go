// Command headstart is a LiveKit voice-agent worker that has looked things up
// before the caller stops talking. It owns flags, the environment and wiring;
// anything worth a test of its own lives in the packages below.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is the worker's own, set at link time by a release.
var version = "dev"

// Exit codes.
const (
	exitFailure = 1 // what was asked could not be done
	exitUsage   = 2 // what was asked is not understood
)

// usageError marks an error of the command line, for its exit code.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "headstart: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailure
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "headstart",
		Short: "A LiveKit voice agent that has looked things up before the caller stops talking",
		Long: `Headstart joins LiveKit rooms as the agent. It starts its lookups while the
caller is still speaking, never lets them cost a turn more than 250 ms, and
keeps a log of what the agent knew at every moment.`,
		Example: `  headstart demo                       three calls on this machine, no keys needed
  headstart dev --agent agent.yaml     serve an agent while you change it
  headstart start --agent agent.yaml   serve an agent in production
  headstart log call-7Hq2              what happened in a call`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(startCommand(), devCommand(), demoCommand(), logCommand(), transferCommand(), migrateCommand(), modelsCommand(), fakesCommand(), benchCommand(), docsCommand(), orgsCommand(), contactsCommand(), memoryCommand())
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.RunE, cmd.SuggestionsMinimumDistance = group, 2
		}
	}
	return root
}

// group is a command that only holds others: alone it tells which, and a word that
// is none of them is refused.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	known := ""
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		known = fmt.Sprintf(", did you mean %s?", strings.Join(like, " or "))
	}
	return usageError{fmt.Errorf("%s has no command %q%s; see %s --help", cmd.CommandPath(), args[0], known, cmd.CommandPath())}
}

// noArguments refuses words that a command does not take.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, got %q; see %s --help", cmd.Name(), args, cmd.CommandPath())}
	}
	return nil
}
