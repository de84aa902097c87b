package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/retrieval/knowledge"
	"headstart/worker/calllog"
)

// docsStore says where the bases are, and whose.
type docsStore struct {
	data, database string
	org            string
	asJSON         bool
}

func (o *docsStore) flags(cmd *cobra.Command) {
	o.place(cmd)
	cmd.Flags().StringVar(&o.org, "org", calllog.DefaultOrg, "`ORG` whose bases they are")
}

// place adds the flags that do not say whose.
func (o *docsStore) place(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.data, "data", envOr("HEADSTART_DATA", ".headstart"), "`DIR` of the store (HEADSTART_DATA)")
	f.BoolVar(&o.asJSON, "json", false, "JSON in place of text for people")
	databaseFlag(cmd, &o.database)
}

// with opens the store for as long as do runs. One that is not there holds nothing
// to read or change, and is not made.
func (o *docsStore) with(ctx context.Context, do func(database) error) error {
	db, err := openRecords(ctx, databaseOr(o.database), o.data)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// making is with for what may be the first to keep something.
func (o *docsStore) making(ctx context.Context, do func(database) error) error {
	at := databaseOr(o.database)
	if at == "" {
		if err := os.MkdirAll(o.data, 0o700); err != nil {
			return fmt.Errorf("make data folder: %w", err)
		}
	}
	db, err := openDatabase(ctx, at, o.data, zap.NewNop())
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// known says what to do about a base that is not there.
func known(err error, base string) error {
	if errors.Is(err, knowledge.ErrUnknownBase) {
		return fmt.Errorf("no base %s; headstart docs list tells which there are", base)
	}
	return err
}

// writeObject writes one JSON object on a line.
func writeObject(out io.Writer, value any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// oneArgument wants exactly one word, which is what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s takes %s, got %d arguments; see headstart %s --help", cmd.Name(), what, len(args), strings.TrimPrefix(cmd.CommandPath(), "headstart "))}
		}
		return nil
	}
}
