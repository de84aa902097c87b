package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"

	"headstart/worker"
)

// docsAttach is what docs attach was asked.
type docsAttach struct {
	agent    string
	mode     string
	k        int
	minScore float64
	show     bool
}

func docsAttachCommand() *cobra.Command {
	var o docsAttach
	cmd := &cobra.Command{
		Use:   "attach BASE",
		Short: "Let an agent read a base: write it into the docs of its file",
		Long: `An agent reads the bases that its file names under docs. This writes one more there,
or other numbers for one that is there, and leaves the rest of the file, comments
included. A base is searched before each turn; with --mode tool the model searches it
when it wants to. Workers read agent files when they start. With --show the file is
told and not written.`,
		Example: `  headstart docs attach clinica --agent clinica.yaml
  headstart docs attach tarifas --agent clinica.yaml --k 4 --min-score 0.2
  headstart docs attach manual --agent clinica.yaml --mode tool`,
		Args: oneArgument("one base"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.agent == "" {
				return usageError{errors.New("--agent FILE: which agent reads the base?")}
			}
			if !slices.Contains([]string{"", worker.ModeRetrieved, worker.ModeTool}, o.mode) {
				return usageError{fmt.Errorf("--mode %q: want %s or %s", o.mode, worker.ModeRetrieved, worker.ModeTool)}
			}
			text, err := os.ReadFile(o.agent)
			if err != nil {
				return fmt.Errorf("read agent: %w", err)
			}
			next, err := o.attach(text, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", o.agent, err)
			}
			if o.show {
				_, err := cmd.OutOrStdout().Write(next)
				return err
			}
			if err := writeWhole(o.agent, next); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s reads %s; workers that serve it must start again\n", o.agent, args[0])
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", "the agent's `FILE`")
	f.StringVar(&o.mode, "mode", "", "`MODE`: retrieved, searched before each turn, or tool, searched by the model; left out, as it is")
	f.IntVar(&o.k, "k", 0, "passages a turn at most; 0 leaves the default, 8")
	f.Float64Var(&o.minScore, "min-score", 0, "floor of the fused score, 0 to 1")
	f.BoolVar(&o.show, "show", false, "tell what the file would be, and write nothing")
	return cmd
}

// attach is an agent file with a base more. What it makes is read again before it
// is believed: the agent must be the same but for its docs.
func (o *docsAttach) attach(text []byte, base string) ([]byte, error) {
	a, err := worker.ParseAgent(text)
	if err != nil {
		return nil, err
	}
	docs := slices.Clone(a.Docs)
	entry := worker.DocsConfig{Base: base, Mode: o.mode, K: o.k, MinScore: o.minScore}
	if at := slices.IndexFunc(docs, func(d worker.DocsConfig) bool { return d.Base == base }); at >= 0 {
		entry.Mode, entry.Late = cmp.Or(o.mode, docs[at].Mode), docs[at].Late
		docs[at] = entry
	} else {
		docs = append(docs, entry)
	}
	line := "docs: " + flow(docs) + "\n"
	next := []byte(strings.TrimRight(string(text), "\n") + "\n" + line)
	if len(a.Docs) > 0 {
		if next, err = withDocs(text, line); err != nil {
			return nil, err
		}
	}
	a.Docs = docs
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("check agent file: %w", err)
	}
	again, err := worker.ParseAgent(next)
	if err != nil || !slices.Equal(again.Docs, docs) || again.Name != a.Name {
		return nil, fmt.Errorf("cannot be changed safely: write %s into it yourself", strings.TrimSpace(line))
	}
	return next, nil
}

// withDocs puts other docs in the place of those of a file.
func withDocs(text []byte, line string) ([]byte, error) {
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read agent file: %s", yaml.FormatError(err, false, false))
	}
	path, err := yaml.PathString("$.docs")
	if err != nil {
		return nil, fmt.Errorf("find docs: %w", err)
	}
	_, value, _ := strings.Cut(line, " ")
	if err := path.ReplaceWithReader(file, strings.NewReader(value)); err != nil {
		return nil, fmt.Errorf("write docs: %w", err)
	}
	return []byte(strings.TrimRight(file.String(), "\n") + "\n"), nil
}

// flow writes docs on one line, as an agent file may have them.
func flow(docs worker.Docs) string {
	var all []string
	for _, d := range docs {
		entry := "{base: " + d.Base
		if d.Mode != "" {
			entry += ", mode: " + d.Mode
		}
		if d.K > 0 {
			entry += fmt.Sprintf(", k: %d", d.K)
		}
		if d.MinScore > 0 {
			entry += fmt.Sprintf(", min_score: %v", d.MinScore)
		}
		if d.Late != "" {
			entry += ", late: " + d.Late
		}
		all = append(all, entry+"}")
	}
	if len(all) == 1 {
		return all[0]
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// writeWhole puts a file in the place of another, whole or not at all.
func writeWhole(path string, text []byte) error {
	mode := os.FileMode(0o600)
	if stat, err := os.Stat(path); err == nil {
		mode = stat.Mode().Perm()
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = part.Write(text)
	err = errors.Join(err, part.Chmod(mode), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(part.Name()))
	}
	return nil
}
