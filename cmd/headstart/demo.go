package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"headstart/store/postgres"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog"
	"headstart/worker/demo"
)

// demoAgent is the name under which the demo's worker is dispatched.
const demoAgent = "headstart-demo"

// demoCalls are the recorded calls, in the order they are made.
var demoCalls = []string{"es-1", "es-2", "en-1"}

// demoOptions are the flags of the demo.
type demoOptions struct {
	livekitURL string
	data       string // the samples
	database   string // a PostgreSQL, on which the demo makes a database of its own
	jsonFile   string
	embedMS    int
	noEarly    bool
	compare    bool
	web        bool
	listen     string // where the page is served
	verbose    bool
}

func demoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Three recorded calls over real WebRTC, on this machine, without keys",
		Long: `Starts a real LiveKit server on loopback, a worker and an embedded store, loads
the sample knowledge base, and lets a simulated caller dial in and speak recorded
questions. It prints the conversation as it happens and what each turn cost.

The recogniser knows the recordings only; the model answers with sentences of the
documents; the voice is espeak-ng where it is installed. Each is a provider like
any other, chosen in the agent files under testdata/agents.

The store is a SQLite file in a temporary folder. With --database, or
HEADSTART_DATABASE_URL, it is a database of the demo's own on that PostgreSQL, made
and dropped by it: what the server holds otherwise is not touched.`,
		Example: `  headstart demo                   make the calls
  headstart demo --compare         and again with lookups at the end of the turn
  headstart demo --json out.json   figures for scripts
  headstart demo --web             a page to talk or type to the agent
  headstart demo --database postgres://localhost/postgres   keep all of it in PostgreSQL`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.livekitURL, "livekit-url", os.Getenv("LIVEKIT_URL"), "LiveKit server to use, with LIVEKIT_API_KEY and LIVEKIT_API_SECRET; empty runs one here (LIVEKIT_URL)")
	f.StringVar(&o.data, "testdata", "", "`DIR` of the samples; empty looks for testdata from here upward")
	f.StringVar(&o.database, "database", "", "`URL` of a PostgreSQL whose user may make databases; none is SQLite (HEADSTART_DATABASE_URL)")
	f.StringVar(&o.jsonFile, "json", "", "write the figures to this `FILE`")
	f.IntVar(&o.embedMS, "embed-ms", 150, "how long the embedder takes, in milliseconds")
	f.BoolVar(&o.noEarly, "no-early", false, "start lookups at the end of the turn")
	f.BoolVar(&o.compare, "compare", false, "make the calls a second time with --no-early, and show both")
	f.BoolVar(&o.web, "web", false, "serve a page to talk to the agent, until interrupted")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the page; port 0 takes a free one")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the worker's log")
	return cmd
}

// demoReport is what --json writes.
type demoReport struct {
	demo.Report
	NoEarly *demo.Report `json:"no_early,omitempty"`
}

func runDemo(cmd *cobra.Command, o demoOptions) error {
	if o.web && (o.jsonFile != "" || o.compare) {
		return usageError{errors.New("--web makes no calls: it goes with neither --json nor --compare")}
	}
	stage, err := openStage(cmd, o)
	if err != nil {
		return err
	}
	defer stage.close()
	if o.web {
		return stage.serveWeb()
	}
	return stage.report(o)
}

// stage is what the demo runs on: the LiveKit server and the samples.
type stage struct {
	cmd      *cobra.Command
	options  demoOptions
	settings settings
	log      *zap.Logger
	agents   []worker.Agent
	scripts  []demo.Script
	closers  []func() error
}

func openStage(cmd *cobra.Command, o demoOptions) (*stage, error) {
	level := zapcore.ErrorLevel
	if o.verbose {
		level = zapcore.DebugLevel
	}
	log, err := readableLog(level)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	st := &stage{cmd: cmd, options: o, log: log}
	for _, open := range []func() error{st.openSamples, st.openDatabase, st.openLiveKit} {
		if err := open(); err != nil {
			return nil, errors.Join(err, st.close())
		}
	}
	return st, nil
}

// openSamples reads the agents and the calls, and makes a data folder.
func (st *stage) openSamples() error {
	samples, err := findSamples(st.options.data)
	if err != nil {
		return err
	}
	if st.settings, err = settingsFromEnv(); err != nil {
		return err
	}
	if st.settings.data, err = os.MkdirTemp("", "headstart-demo-"); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	st.closers = append(st.closers, func() error { return os.RemoveAll(st.settings.data) })
	clinic := filepath.Join(samples, "knowledge", "clinica-norte")
	st.settings.bases = []string{"clinica-norte=" + clinic, "clinica-norte-en=" + filepath.Join(clinic, "en")}
	st.settings.agents = []string{filepath.Join(samples, "agents", "clinica-es.yaml"), filepath.Join(samples, "agents", "clinica-en.yaml")}
	st.settings.agentName, st.settings.drain = demoAgent, 5*time.Second
	st.settings.loadThreshold = 1 // the callers use this process's time as well
	if st.agents, err = readAgents(st.settings.agents); err != nil {
		return err
	}
	for i := range st.agents {
		if st.agents[i].STT.Provider == "replay" {
			st.agents[i].STT.Options = map[string]any{"dir": filepath.Join(samples, "calls")}
		}
		st.agents[i].Embedder.Options = map[string]any{"delay_ms": st.options.embedMS}
	}
	if st.settings.proposer, err = demo.LoadProposer(filepath.Join(samples, "calls")); err != nil {
		return err
	}
	st.scripts, err = demo.LoadScripts(filepath.Join(samples, "calls"), demoCalls...)
	return err
}

// openDatabase makes a database on the server of a PostgreSQL that is named.
func (st *stage) openDatabase() error {
	at := databaseOr(st.options.database)
	if at == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(st.cmd.Context(), scratchWithin)
	defer cancel()
	scratch, err := postgres.Scratch(ctx, at)
	if err != nil {
		return fmt.Errorf("make a database for the demo (without --database and HEADSTART_DATABASE_URL it needs none): %w", err)
	}
	st.settings.database = scratch
	st.closers = append(st.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(st.cmd.Context()), scratchWithin) // an interrupted demo leaves nothing either
		defer cancel()
		return postgres.DropScratch(ctx, at, scratch)
	})
	return nil
}

// scratchWithin bounds the making of the demo's database, and its end.
const scratchWithin = 30 * time.Second

func (st *stage) openLiveKit() error {
	st.settings.url = st.options.livekitURL
	if st.settings.url != "" {
		return st.settings.checkLiveKit()
	}
	server, err := startLiveKit(st.cmd, &st.settings)
	if err != nil {
		return err
	}
	st.closers = append(st.closers, server.Stop)
	return nil
}

func (st *stage) close() error {
	var errs []error
	for i := len(st.closers) - 1; i >= 0; i-- {
		errs = append(errs, st.closers[i]())
	}
	return errors.Join(errs...)
}

// findSamples is the testdata folder: as named, or the first one upward.
func findSamples(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find testdata: %w", err)
	}
	for {
		samples := filepath.Join(dir, "testdata")
		if _, err := os.Stat(filepath.Join(samples, "calls")); err == nil {
			return samples, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", usageError{errors.New("no testdata with the sample calls here or above: run the demo in a checkout, or name the folder with --testdata")}
		}
		dir = parent
	}
}

// report makes the calls and tells what came of them.
func (st *stage) report(o demoOptions) error {
	out := st.cmd.OutOrStdout()
	first, err := st.calls(!o.noEarly)
	if err != nil {
		return err
	}
	whole := demoReport{Report: first}
	if o.compare && !o.noEarly {
		fmt.Fprint(out, "\nThe same calls with lookups at the end of the turn:\n\n")
		late, err := st.calls(false)
		if err != nil {
			return err
		}
		whole.NoEarly = &late
	}
	fmt.Fprintln(out)
	demo.WriteTable(out, first, whole.NoEarly)
	if o.jsonFile != "" {
		if err := writeReport(o.jsonFile, whole); err != nil {
			return err
		}
	}
	failed := first.Failed()
	if whole.NoEarly != nil {
		failed = append(failed, whole.NoEarly.Failed()...)
	}
	if len(failed) > 0 {
		return fmt.Errorf("the demo did not go well: %s", joinLines(failed))
	}
	return nil
}

func joinLines(list []string) string {
	var text strings.Builder
	for _, l := range list {
		text.WriteString("\n  " + l)
	}
	return text.String()
}

func writeReport(path string, r demoReport) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}

// calls runs a worker for as long as the recorded calls last.
func (st *stage) calls(early bool) (demo.Report, error) {
	ctx := st.cmd.Context()
	out := st.cmd.OutOrStdout()
	return withWorker(ctx, st, early, func(srv *server) (demo.Report, error) {
		return demo.Play(ctx, demo.Config{
			URL: st.settings.url, APIKey: st.settings.apiKey, APISecret: st.settings.apiSecret, AgentName: demoAgent,
			Agents: st.agentsByLanguage(), Logs: bookLogs{srv}, Log: st.log,
			Show: func(l demo.Line) { fmt.Fprintf(out, "%s  %-6s  %s\n", l.Call, l.Who, l.Text) },
		}, st.scripts)
	})
}

func (st *stage) agentsByLanguage() map[string]string {
	slugs := map[string]string{}
	for _, a := range st.agents {
		slugs[a.Language] = a.Name
	}
	return slugs
}

// withWorker runs a worker beside what is done with it, and ends it after.
func withWorker[T any](ctx context.Context, st *stage, early bool, do func(*server) (T, error)) (result T, err error) {
	srv, err := openServer(ctx, st.settings, st.agents, early, st.log)
	if err != nil {
		return result, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- srv.serve(serving, context.WithoutCancel(ctx)) }() // the calls are over when it drains
	if err = registered(ctx, srv, served); err == nil {
		result, err = do(srv)
		stop()
		err = errors.Join(err, <-served)
	}
	stop()
	return result, errors.Join(err, srv.close())
}

// registered waits until LiveKit knows the worker.
func registered(ctx context.Context, srv *server, served <-chan error) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.NewTimer(registrationPatience)
	defer deadline.Stop()
	for !srv.client.Registered() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-served:
			return fmt.Errorf("serve: %w", err)
		case <-deadline.C:
			return fmt.Errorf("register with LiveKit: not done after %v", registrationPatience)
		case <-look.C:
		}
	}
	return nil
}

// bookLogs reads the calls of the worker that runs in this process.
type bookLogs struct{ srv *server }

// Sealed implements demo.Logs.
func (b bookLogs) Sealed(ctx context.Context, room string) (string, []turn.Entry, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		id, entries, err := b.find(ctx, room)
		if err != nil || entries != nil {
			return id, entries, err
		}
		select {
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		case <-look.C:
		}
	}
}

// find returns the log of the call in a room; nil while it is not sealed.
func (b bookLogs) find(ctx context.Context, room string) (string, []turn.Entry, error) {
	calls, err := b.srv.db.Calls(ctx, calllog.DefaultOrg, 10)
	if err != nil {
		return "", nil, fmt.Errorf("list calls: %w", err)
	}
	for _, c := range calls {
		if !c.Sealed {
			continue
		}
		page, err := b.srv.book.Read(ctx, c.ID, 0, 10000)
		if err != nil {
			return "", nil, fmt.Errorf("read log of %s: %w", c.ID, err)
		}
		if roomOf(page.Entries) == room {
			return c.ID, page.Entries, nil
		}
	}
	return "", nil, nil
}

func roomOf(entries []turn.Entry) string {
	var started turn.CallStarted
	for _, e := range entries {
		if e.Type == started.EventType() && json.Unmarshal(e.Data, &started) == nil {
			return started.Room
		}
	}
	return ""
}
