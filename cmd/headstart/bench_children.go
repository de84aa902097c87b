package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/worker/bench"
	"headstart/worker/room"
)

// benchCallersCommand is the callers' own process.
func benchCallersCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "callers",
		Short:  "Make the calls of an order on the standard input, and tell of them in JSON lines",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			room.SilenceSDK()
			in := bufio.NewReader(cmd.InOrStdin())
			line, err := in.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			var order bench.Order
			if err := json.Unmarshal(line, &order); err != nil {
				return fmt.Errorf("read order: %w", err)
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			go func() { _, _ = in.ReadByte(); stop() }() // the end of the input is the order to hang up; the process ends it
			out := json.NewEncoder(cmd.OutOrStdout())
			return bench.Call(ctx, order, func(t bench.Told) { _ = out.Encode(t) }, zap.NewNop()) // nobody reads: nobody is told
		},
	}
}

// benchMetronomeCommand tells how punctual the machine is by itself.
func benchMetronomeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "metronome",
		Short:  "Wake each 20 ms until the standard input ends, and tell how often that was late",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			go func() { _, _ = io.Copy(io.Discard, cmd.InOrStdin()); stop() }() // the end of the input is the order to tell; the process ends it
			return json.NewEncoder(cmd.OutOrStdout()).Encode(bench.Metronome(ctx))
		},
	}
}

// startMetronome runs one as a child; the function that it returns ends it and
// tells what it counted.
func (t *theatre) startMetronome() (func() (bench.Beats, error), error) {
	child, err := ownChild(t.cmd.Context(), "bench", "metronome")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	child.Stdout = &out
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run metronome: %w", err)
	}
	return func() (b bench.Beats, err error) {
		if err := errors.Join(in.Close(), child.Wait()); err != nil {
			return b, fmt.Errorf("run metronome: %w", err)
		}
		if err := json.Unmarshal(out.Bytes(), &b); err != nil {
			return b, fmt.Errorf("read metronome: %w", err)
		}
		return b, nil
	}, nil
}

// ownChild is this program again, with other arguments. It ends with ctx.
func ownChild(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	child := exec.CommandContext(ctx, self, args...)
	child.Stderr = os.Stderr
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 10 * time.Second
	return child, nil
}

// endChild ends a child that is there until it is told to go.
func endChild(child *exec.Cmd) error {
	_ = child.Process.Signal(syscall.SIGTERM) // one that has ended is told by Wait
	if err := child.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("end %s: %w", child.Args[1], err)
	}
	return nil
}

// callers are the callers' process while it calls.
type callers struct {
	rooms []string
	told  <-chan bench.Told // closed when the process has said all
	hang  func() error      // tells them to hang up
	child *exec.Cmd
}

// dial makes the callers' process call, so many at once.
func (t *theatre) dial(name string, calls, turns int) (*callers, error) {
	order := bench.Order{
		URL: t.settings.url, APIKey: t.settings.apiKey, APISecret: t.settings.apiSecret, AgentName: benchAgent,
		Question: t.options.question, Turns: turns,
	}
	for n := range calls {
		order.Rooms = append(order.Rooms, fmt.Sprintf("bench-%s-%d-%d", name, time.Now().UnixMilli(), n+1))
	}
	child, err := ownChild(t.cmd.Context(), "bench", "callers")
	if err != nil {
		return nil, err
	}
	in, inErr := child.StdinPipe()
	out, outErr := child.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, fmt.Errorf("run callers: %w", err)
	}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("run callers: %w", err)
	}
	told := make(chan bench.Told)
	go func() { // ends with the child's output
		defer close(told)
		for lines := json.NewDecoder(out); ; {
			var one bench.Told
			if lines.Decode(&one) != nil {
				return
			}
			told <- one
		}
	}()
	c := &callers{rooms: order.Rooms, told: told, child: child, hang: in.Close}
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, errors.Join(fmt.Errorf("order calls: %w", err), in.Close(), c.wait(nil))
	}
	return c, nil
}

// wait hears all that is still told and waits for the end of the process.
func (c *callers) wait(hear func(bench.Told)) error {
	for one := range c.told {
		if hear != nil {
			hear(one)
		}
	}
	if err := c.child.Wait(); err != nil {
		return fmt.Errorf("run callers: %w", err)
	}
	return nil
}
