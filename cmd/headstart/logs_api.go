package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headstart/turn"
	"headstart/worker/calllog"
)

// elsewhere reads calls and logs from another process's /v1.
type elsewhere struct {
	base, key string
}

// longestEvent bounds one entry of a stream, in bytes.
const longestEvent = 4 << 20

// answerWithin bounds the wait for the head of an answer, and silentWithin the
// silence of a stream, which is heard of each 15 s.
const (
	answerWithin = 10 * time.Second
	silentWithin = 40 * time.Second
)

// refusedError is an answer that is no grant.
type refusedError struct {
	Status   int    `json:"-"`
	Code     string `json:"code"`
	Sentence string `json:"error"`
}

func (e *refusedError) Error() string {
	if e.Sentence == "" {
		return "answered " + http.StatusText(e.Status)
	}
	return e.Sentence
}

// ask sends a request and returns what was granted.
func (e elsewhere) ask(ctx context.Context, path, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(e.base, "/")+path, nil)
	if err != nil {
		return nil, usageError{fmt.Errorf("--api %s: %w", e.base, err)}
	}
	r.Header.Set("Accept", accept)
	if e.key != "" {
		r.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the api: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	refused := &refusedError{Status: resp.StatusCode}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(refused) // what is no JSON has no sentence
	return nil, refused
}

// logElsewhere is the command log on another process's calls.
func logElsewhere(cmd *cobra.Command, e elsewhere, args []string, after int64, follow, asJSON bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	switch {
	case len(args) == 0:
		list, err := e.list(ctx, listed)
		if err != nil {
			return fmt.Errorf("list calls: %w", err)
		}
		return writeCalls(out, list, asJSON)
	case follow:
		return e.follow(ctx, out, args[0], after, writerOf(asJSON))
	}
	return e.print(ctx, out, args[0], after, writerOf(asJSON))
}

// get reads a JSON answer.
func (e elsewhere) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %s", answerWithin))
	defer cancel()
	resp, err := e.ask(ctx, path, "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the api's answer: %w", err)
	}
	return nil
}

// list are the last calls, newest first.
func (e elsewhere) list(ctx context.Context, limit int) ([]calllog.Call, error) {
	var answer struct{ Calls []calllog.Call }
	err := e.get(ctx, "/v1/calls?limit="+strconv.Itoa(limit), &answer)
	return answer.Calls, err
}

func logPath(call string) string { return "/v1/calls/" + url.PathEscape(call) + "/log?after=" }

// print writes a log as it is now.
func (e elsewhere) print(ctx context.Context, out io.Writer, call string, after int64, write writer) error {
	for {
		var page struct{ Entries []turn.Entry }
		if err := e.get(ctx, logPath(call)+strconv.FormatInt(after, 10), &page); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if len(page.Entries) == 0 {
			return nil
		}
		for _, entry := range page.Entries {
			if err := write(out, entry); err != nil {
				return err
			}
			after = entry.Seq
		}
	}
}

// errCut is a stream that did not come to its end.
var errCut = errors.New("the stream was cut before the log's end")

// follow writes a log as it is written, until its seal.
func (e elsewhere) follow(ctx context.Context, out io.Writer, call string, after int64, write writer) error {
	hearing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silentWithin, func() { cancel(fmt.Errorf("nothing was heard for %s", silentWithin)) })
	defer silent.Stop()
	resp, err := e.ask(hearing, logPath(call)+strconv.FormatInt(after, 10), "text/event-stream")
	if err != nil {
		return fmt.Errorf("follow log: %w", err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, longestEvent)
	for lines.Scan() {
		silent.Reset(silentWithin)
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "event: end":
			return nil
		case !isData:
			continue
		}
		var entry turn.Entry
		if err := json.Unmarshal([]byte(data), &entry); err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		if err := write(out, entry); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // the reader has seen enough
	}
	return fmt.Errorf("follow log: %w", errors.Join(errCut, context.Cause(hearing), lines.Err()))
}
