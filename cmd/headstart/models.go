package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headstart/turn/vad/weights"
)

func modelsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "models", Short: "The files of trained numbers that engines need"}
	cmd.AddCommand(modelsPullCommand(), modelsListCommand())
	return cmd
}

func modelsPullCommand() *cobra.Command {
	var dir, from string
	cmd := &cobra.Command{
		Use:   "pull [NAME]",
		Short: "Fetch a model from its publisher, and check it by its SHA-256",
		Long: `Fetches the weights of a model from the project that publishes it and checks
them by their SHA-256. In a closed network, bring the file and name it with --from.`,
		Example: `  headstart models pull
  headstart models pull silero-vad --from /media/usb/silero_vad_16k.safetensors`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := weights.Silero
			if len(args) == 1 {
				name = args[0]
			}
			model, ok := weights.Find(name)
			if !ok {
				return usageError{fmt.Errorf("no model is named %s; headstart models list tells which are", name)}
			}
			path, err := pull(cmd, model, dir, from)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", envOr("HEADSTART_MODELS", defaultModels()), "`DIR` to keep models in (HEADSTART_MODELS)")
	cmd.Flags().StringVar(&from, "from", "", "take the model from this `FILE` instead of its publisher")
	return cmd
}

func pull(cmd *cobra.Command, model weights.Model, dir, from string) (string, error) {
	if from != "" {
		return weights.Install(from, model, dir)
	}
	// The transfer itself is bounded by its progress, not by a total.
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 20 * time.Second}}
	defer client.CloseIdleConnections()
	return weights.Pull(cmd.Context(), client, model, dir, progressOf(cmd.ErrOrStderr(), model.Name))
}

// progressOf draws how far a download is: a line that rewrites itself on a
// terminal, one line each tenth elsewhere.
func progressOf(out io.Writer, name string) func(done, total int64) {
	terminal := isTerminal(out)
	told := int64(-1)
	return func(done, total int64) {
		if total <= 0 {
			return
		}
		switch percent := 100 * done / total; {
		case terminal && percent != told:
			told = percent
			fmt.Fprintf(out, "\r%s %3d %%  %d of %d kB", name, percent, done/1000, total/1000)
			if done == total {
				fmt.Fprintln(out)
			}
		case !terminal && percent/10 != told:
			told = percent / 10
			fmt.Fprintf(out, "%s %d %%\n", name, percent)
		}
	}
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func modelsListCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The models that are known, and whether they are here",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, m := range weights.Catalogue() {
				path := weights.Path(dir, m)
				state := "not here; headstart models pull " + m.Name
				if _, err := os.Stat(path); err == nil {
					state = path
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-12s %-40s %s\n", m.Name, m.Engine, state)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", envOr("HEADSTART_MODELS", defaultModels()), "`DIR` that models are kept in (HEADSTART_MODELS)")
	return cmd
}
