package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headstart/retrieval/embed/hub"
	"headstart/turn/vad/weights"
)

func modelsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "models", Short: "The files of trained numbers that engines need"}
	cmd.AddCommand(modelsPullCommand(), modelsListCommand())
	return cmd
}

func modelsPullCommand() *cobra.Command {
	var dir, from, base, revision string
	cmd := &cobra.Command{
		Use:   "pull [NAME]",
		Short: "Fetch a model from its publisher, and check it by its SHA-256",
		Long: `Fetches the weights of a model from the project that publishes it and checks
them by their SHA-256. In a closed network, bring the file and name it with --from.

A NAME of the form OWNER/MODEL is an embedder of Hugging Face's hub: a Model2Vec
table for the static embedder, or a sentence-transformers export with an
onnx/model.onnx. The hashes of its first pull are recorded; later, no other file is
taken for that model. What broke off is resumed by the next pull.`,
		Example: `  headstart models pull
  headstart models pull silero-vad --from /media/usb/silero_vad_16k.safetensors
  headstart models pull minishlab/potion-multilingual-128M`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := weights.Silero
			if len(args) == 1 {
				name = args[0]
			}
			if hub.Named(name) {
				if from != "" {
					return usageError{errors.New("--from takes one file, and an embedder has several: copy its folder and name it in the agent file, embedder.options.dir")}
				}
				return pullEmbedder(cmd, hub.Config{Base: base, Revision: revision, Dir: dir}, name)
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
	cmd.Flags().StringVar(&base, "hub", envOr("HEADSTART_HUB_URL", hub.DefaultBase), "`URL` of the hub that embedders come from (HEADSTART_HUB_URL)")
	cmd.Flags().StringVar(&revision, "revision", "main", "branch, tag or `COMMIT` of an embedder")
	return cmd
}

func pull(cmd *cobra.Command, model weights.Model, dir, from string) (string, error) {
	if from != "" {
		return weights.Install(from, model, dir)
	}
	client := transferClient()
	defer client.CloseIdleConnections()
	return weights.Pull(cmd.Context(), client, model, dir, progressOf(cmd.ErrOrStderr(), model.Name))
}

// transferClient is for large files: the transfer itself is bounded by its
// progress, not by a total.
func transferClient() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 20 * time.Second}}
}

// pullEmbedder brings an embedder from the hub, with a bar for each file.
func pullEmbedder(cmd *cobra.Command, cfg hub.Config, name string) error {
	cfg.Client = transferClient()
	defer cfg.Client.CloseIdleConnections()
	bars := map[string]func(done, total int64){}
	cfg.Progress = func(file string, done, total int64) {
		if bars[file] == nil {
			bars[file] = progressOf(cmd.ErrOrStderr(), file)
		}
		bars[file](done, total)
	}
	dir, err := hub.Pull(cmd.Context(), cfg, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), dir)
	return nil
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
			pulled, err := hub.Pulled(dir)
			for _, name := range pulled {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  embedder  %s\n", name, hub.Folder(dir, name))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", envOr("HEADSTART_MODELS", defaultModels()), "`DIR` that models are kept in (HEADSTART_MODELS)")
	return cmd
}
