package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headstart/turn"
	"headstart/worker/calllog"
)

func logCommand() *cobra.Command {
	var data, at, api string
	var follow, asJSON bool
	var after int64
	cmd := &cobra.Command{
		Use:   "log [CALL]",
		Short: "What happened in a call, entry by entry; without CALL, the last calls",
		Example: `  headstart log                      the last calls
  headstart log call-7Hq2 --follow   a call while it goes on
  headstart log call-7Hq2 --json     one JSON object a line
  headstart log --api http://worker-3:8080   another machine's calls`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if api != "" {
				return logElsewhere(cmd, elsewhere{api, os.Getenv("HEADSTART_API_KEY")}, args, after, follow, asJSON)
			}
			db, err := openRecords(cmd.Context(), databaseOr(at), data)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				return listCalls(cmd.Context(), out, db, asJSON)
			}
			if _, err := db.Call(cmd.Context(), calllog.DefaultOrg, args[0]); errors.Is(err, calllog.ErrUnknownCall) && !follow {
				return fmt.Errorf("no call %s in %s; headstart log lists the last ones", args[0], firstOf(maskURL(databaseOr(at)), data))
			}
			return printLog(cmd.Context(), out, calllog.NewReader(db), args[0], after, follow, writerOf(asJSON))
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", envOr("HEADSTART_DATA", ".headstart"), "`DIR` of the log (HEADSTART_DATA)")
	databaseFlag(cmd, &at)
	f.StringVar(&api, "api", "", "read from a worker's /v1 at this `URL` instead; its key is HEADSTART_API_KEY")
	f.BoolVarP(&follow, "follow", "f", false, "go on as entries are written, until the log is sealed")
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	f.Int64Var(&after, "after", 0, "only entries with a seq above this one")
	return cmd
}

// pageSize is how many entries are read at a time.
const pageSize = 500

func printLog(ctx context.Context, out io.Writer, logs *calllog.Reader, call string, after int64, follow bool, write writer) error {
	if follow {
		for entry, err := range logs.Follow(ctx, call, after) {
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return nil // the reader has seen enough
				}
				return fmt.Errorf("follow log: %w", err)
			}
			if err := write(out, entry); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		page, err := logs.Read(ctx, call, after, pageSize)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		for _, entry := range page.Entries {
			if err := write(out, entry); err != nil {
				return err
			}
			after = entry.Seq
		}
		if len(page.Entries) < pageSize {
			return nil
		}
	}
}

// writer writes one entry.
type writer func(io.Writer, turn.Entry) error

func writerOf(asJSON bool) writer {
	if asJSON {
		return writeJSON
	}
	return writeEntry
}

// writeEntry writes an entry for people: seq, time, type, payload.
func writeEntry(out io.Writer, e turn.Entry) error {
	data := &bytes.Buffer{}
	if err := json.Compact(data, e.Data); err != nil {
		data.Write(e.Data)
	}
	_, err := fmt.Fprintf(out, "%5d  %s  %-16s %s\n", e.Seq, e.Time.Local().Format("15:04:05.000"), e.Type, data)
	return err
}

func writeJSON(out io.Writer, e turn.Entry) error { return json.NewEncoder(out).Encode(e) }

func listCalls(ctx context.Context, out io.Writer, calls calllog.Calls, asJSON bool) error {
	list, err := calls.Calls(ctx, calllog.DefaultOrg, listed)
	if err != nil {
		return fmt.Errorf("list calls: %w", err)
	}
	return writeCalls(out, list, asJSON)
}

// listed is how many calls are listed.
const listed = 20

func writeCalls(out io.Writer, list []calllog.Call, asJSON bool) error {
	if len(list) == 0 && !asJSON {
		fmt.Fprintln(out, "no calls yet")
	}
	for _, c := range list {
		if err := writeCall(out, c, asJSON); err != nil {
			return err
		}
	}
	return nil
}

func writeCall(out io.Writer, c calllog.Call, asJSON bool) error {
	if asJSON {
		line := map[string]any{"id": c.ID, "agent": c.Agent, "started": c.Started, "reason": c.Reason, "sealed": c.Sealed}
		if !c.Ended.IsZero() {
			line["ended"] = c.Ended
		}
		return json.NewEncoder(out).Encode(line)
	}
	lasted, reason := "goes on", "-"
	if !c.Ended.IsZero() {
		lasted, reason = c.Ended.Sub(c.Started).Round(time.Second).String(), c.Reason
	}
	_, err := fmt.Fprintf(out, "%-28s %-20s %s  %8s  %s\n", c.ID, c.Agent, c.Started.Local().Format(time.DateTime), lasted, reason)
	return err
}
