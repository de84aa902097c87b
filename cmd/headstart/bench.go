package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"headstart/worker"
	"headstart/worker/bench"
	"headstart/worker/room"
)

// benchAgent is the name under which the worker that is measured is dispatched.
const benchAgent = "headstart-bench"

// benchOptions are the flags that both benchmarks have.
type benchOptions struct {
	data       string // the samples
	jsonFile   string
	question   string
	vad        string
	cpuProfile string
	verbose    bool
}

func (o *benchOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.data, "testdata", "", "`DIR` of the samples; empty looks for testdata from here upward")
	f.StringVar(&o.jsonFile, "json", "", "write everything to this `FILE`; - is the standard output, instead of the table")
	f.StringVar(&o.question, "question", bench.DefaultQuestion, "what the callers are understood to say, 70 ms a letter")
	f.StringVar(&o.vad, "vad", "energy", "detector of speech, energy or silero")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "write a profile of this process's time to this `FILE`")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the worker's log")
}

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a turn takes and what a call costs, on this machine",
		Example: `  headstart bench turn --turns 11
  headstart bench calls --calls 1,10`,
	}
	cmd.AddCommand(benchTurnCommand(), benchCallsCommand(), benchCallersCommand())
	return cmd
}

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

// theatre is what a benchmark runs on: LiveKit and the providers in processes of
// their own, and the worker's settings.
type theatre struct {
	cmd      *cobra.Command
	options  benchOptions
	log      *zap.Logger
	settings settings
	fakes    string // their address
	closers  []func() error
}

func openTheatre(cmd *cobra.Command, o benchOptions) (*theatre, error) {
	level := zapcore.ErrorLevel
	if o.verbose {
		level = zapcore.InfoLevel
	}
	log, err := readableLog(level)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	t := &theatre{cmd: cmd, options: o, log: log}
	for _, open := range []func() error{t.openSettings, t.openLiveKit, t.openFakes, t.openProfile} {
		if err := open(); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

func (t *theatre) openSettings() error {
	samples, err := findSamples(t.options.data)
	if err != nil {
		return err
	}
	if t.settings, err = settingsFromEnv(); err != nil {
		return err
	}
	if t.settings.data, err = os.MkdirTemp("", "headstart-bench-"); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	t.closers = append(t.closers, func() error { return os.RemoveAll(t.settings.data) })
	t.settings.bases = []string{"clinica-norte=" + filepath.Join(samples, "knowledge", "clinica-norte")}
	t.settings.agentName, t.settings.drain, t.settings.healthAddr = benchAgent, 5*time.Second, healthOff
	t.settings.loadThreshold, t.settings.maxCalls = 1, 1000 // what is measured must not be refused
	return nil
}

func (t *theatre) openLiveKit() error {
	server, err := startLiveKit(t.cmd, &t.settings)
	if err != nil {
		return err
	}
	t.closers = append(t.closers, server.Stop)
	return nil
}

// openFakes runs the providers as a child and reads their address.
func (t *theatre) openFakes() error {
	script := filepath.Join(t.settings.data, "question")
	if err := os.WriteFile(script, []byte(t.options.question+"\n"), 0o600); err != nil {
		return fmt.Errorf("write question: %w", err)
	}
	child, err := ownChild(t.cmd.Context(), t.cmd.ErrOrStderr(), "fakes", "--script", script)
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run fakes: %w", err)
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("run fakes: %w", err)
	}
	t.closers = append(t.closers, func() error { return endChild(child) })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("run fakes: read their address: %w", err)
	}
	t.fakes = strings.TrimSpace(address)
	return nil
}

func (t *theatre) openProfile() error {
	if t.options.cpuProfile == "" {
		return nil
	}
	file, err := os.Create(t.options.cpuProfile)
	if err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("write profile: %w", errors.Join(err, file.Close()))
	}
	t.closers = append(t.closers, func() error { pprof.StopCPUProfile(); return file.Close() })
	return nil
}

func (t *theatre) close() error {
	var errs []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		errs = append(errs, t.closers[i]())
	}
	return errors.Join(errs...)
}

// ownChild is this program again, with other arguments. It ends with ctx.
func ownChild(ctx context.Context, stderr io.Writer, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	child := exec.CommandContext(ctx, self, args...)
	child.Stderr = stderr
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

const benchAgentFile = `name: bench
language: es-ES
greeting: {say: "Hola, dígame."}
stt: {provider: %[2]s, options: {base_url: "%[1]s", api_key: k}}
llm: {provider: openai, model: m, options: {base_url: "%[1]s/v1", api_key: k}}
voice: {provider: openai, model: tts-1, voice_id: nova, options: {base_url: "%[1]s/v1", api_key: k}}
turn: {vad: %[3]s}
max_duration_s: 86400
`

// agent is the agent of a mode.
func (t *theatre) agent(m bench.Mode) (worker.Agent, error) {
	recogniser := map[string]string{bench.Flux: "flux", bench.VAD: "deepgram"}[m.Recogniser]
	a, err := worker.ParseAgent(fmt.Appendf(nil, benchAgentFile, t.fakes, recogniser, t.options.vad))
	if err != nil {
		return a, usageError{err}
	}
	if m.EmbedMS > 0 {
		a.Docs = worker.Docs{{Base: "clinica-norte"}}
		a.Embedder = worker.ModelConfig{Provider: "hashing", Options: map[string]any{"delay_ms": m.EmbedMS}}
	}
	return a, nil
}

// benchEmbedder tells what stands in for an embedder over the network.
const benchEmbedder = "hashing, in this process, after a wait of so many ms"

// withWorker runs a worker in this process beside what is done with it.
func (t *theatre) withWorker(m bench.Mode, do func(*server) error) (err error) {
	ctx := t.cmd.Context()
	a, err := t.agent(m)
	if err != nil {
		return err
	}
	srv, err := openServer(ctx, t.settings, []worker.Agent{a}, !m.Late, t.log)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- srv.serve(serving, context.WithoutCancel(ctx)) }() // the calls are over when it drains
	if err = registered(ctx, srv, served); err == nil {
		err = do(srv)
		stop()
		err = errors.Join(err, <-served)
	}
	stop()
	return errors.Join(err, srv.close())
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
	child, err := ownChild(t.cmd.Context(), t.cmd.ErrOrStderr(), "bench", "callers")
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

// writeBench writes a report where it was asked for.
func (t *theatre) writeBench(report interface{ Write(io.Writer) }) error {
	out := t.cmd.OutOrStdout()
	if t.options.jsonFile != "-" {
		report.Write(out)
	}
	if t.options.jsonFile == "" {
		return nil
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	if t.options.jsonFile == "-" {
		_, err = fmt.Fprintf(out, "%s\n", text)
	} else {
		err = os.WriteFile(t.options.jsonFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}
