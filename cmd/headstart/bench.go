package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"headstart/worker"
	"headstart/worker/bench"
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
	cmd.AddCommand(benchTurnCommand(), benchCallsCommand(), benchCallersCommand(), benchMetronomeCommand())
	return cmd
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
	child, err := ownChild(t.cmd.Context(), "fakes", "--script", script)
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
		a.Embedder = worker.ModelConfig{Provider: "openai", Model: "m", Options: map[string]any{"base_url": t.fakes + "/v1", "api_key": "k"}}
	}
	return a, nil
}

// benchEmbedder tells what the questions are embedded with.
const benchEmbedder = "OpenAI's protocol over HTTP, to the fakes, which answer after so many ms"

// paceEmbedder has the fakes' embedder take so long from now on.
func (t *theatre) paceEmbedder(ms int) error {
	ctx, cancel := context.WithTimeoutCause(t.cmd.Context(), paceWithin, fmt.Errorf("no answer within %v", paceWithin))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.fakes+"/fakes/embed", strings.NewReader(fmt.Sprintf(`{"delay_ms":%d}`, ms)))
	if err != nil {
		return fmt.Errorf("pace embedder: %w", err)
	}
	req.Close = true // nothing of it is to be left open
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("pace embedder: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("pace embedder: %s", res.Status)
	}
	return nil
}

// paceWithin bounds what the fakes are told.
const paceWithin = 5 * time.Second

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
	if err := t.paceEmbedder(m.EmbedMS); err != nil { // only now: the base is loaded
		return errors.Join(err, srv.close())
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
