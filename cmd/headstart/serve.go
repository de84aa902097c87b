package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
	v1 "headstart/worker/api/v1"
	"headstart/worker/app"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
	"headstart/worker/dispatch"
	"headstart/worker/health"
	"headstart/worker/load"
	"headstart/worker/room"
)

// server is a worker process with everything that it owns. Open it, serve, close.
type server struct {
	settings settings
	log      *zap.Logger
	db       database
	book     *calllog.Book
	desk     *contacts.Desk
	forgot   bool // the erasures of the ledger were applied again
	shelf    *knowledge.Shelf
	meter    *load.Meter
	health   *health.Server // nil when it is turned off
	api      *v1.Server     // likewise
	apps     *app.Holders   // likewise: they come by /v1
	served   []worker.Served
	recalls  []recalling
	remote   map[string]retrieval.Embedder // that they look up with
	kit      *kit                          // that made them
	worker   *worker.Worker
	client   *dispatch.Client
}

// openServer brings up all that a worker needs before it registers: the store,
// the logs that a dead process left, the bases, the agents' providers.
func openServer(ctx context.Context, s settings, agents []worker.Agent, early bool, log *zap.Logger) (*server, error) {
	room.SilenceSDK()
	srv := &server{settings: s, log: log}
	for _, open := range []func() error{
		func() error { return srv.openLogs(ctx, agents) },
		srv.openMeter,
		func() error { return srv.openHealth(ctx) },
		func() error { return srv.openAPI(ctx, agents) },
		func() error { return srv.openWorker(ctx, agents, early) },
	} {
		if err := open(); err != nil {
			return nil, errors.Join(err, srv.close())
		}
	}
	return srv, nil
}

func (srv *server) openLogs(ctx context.Context, agents []worker.Agent) error {
	book, db, err := openBook(ctx, srv.settings.database, srv.settings.data, remembering(agents), srv.log)
	srv.book, srv.db = book, db
	if err != nil {
		return err
	}
	recovered, err := book.Recover(ctx)
	if err != nil {
		return fmt.Errorf("recover logs: %w", err)
	}
	for _, r := range recovered {
		srv.log.Warn("log of a call that a dead process left was completed", zap.String("call", r.Call), zap.Int("entries", r.Entries), zap.Bool("sealed", r.Sealed))
	}
	if srv.desk, err = openDesk(book, db, erasuresOr(srv.settings.erasures, srv.settings.data)); err != nil {
		return err
	}
	first, cancel := context.WithTimeout(ctx, firstReapply)
	defer cancel()
	srv.reapply(first)
	return nil
}

// openBook opens the logs of a data folder, and the database behind them; it makes
// what is not there.
func openBook(ctx context.Context, at, data string, remembers func(agent string) bool, log *zap.Logger) (*calllog.Book, database, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make data folder: %w", err)
	}
	db, err := openDatabase(ctx, at, data, log)
	if err != nil {
		return nil, nil, err
	}
	book, err := openSpools(data, db, remembers, log)
	return book, db, err
}

// openSpools opens the logs of a data folder. When they are recovered, those of agents
// that remember wait for that.
func openSpools(data string, db database, remembers func(agent string) bool, log *zap.Logger) (*calllog.Book, error) {
	book, err := calllog.Open(calllog.Config{Dir: filepath.Join(data, "spool"), Remembers: remembers}, db, log)
	if err != nil {
		return nil, fmt.Errorf("open logs: %w", err)
	}
	return book, nil
}

func (srv *server) openWorker(ctx context.Context, agents []worker.Agent, early bool) error {
	k := &kit{settings: srv.settings, log: srv.log, library: &retrieval.Library{}, early: early}
	srv.kit = k
	if err := srv.openBases(ctx, k, agents); err != nil {
		return err
	}
	var served []worker.Served
	for _, a := range agents {
		s, err := k.serve(ctx, a)
		if err != nil {
			return err
		}
		served = append(served, s)
	}
	cfg := worker.Config{
		URL: srv.settings.url, APIKey: srv.settings.apiKey, APISecret: srv.settings.apiSecret,
		MaxCalls: srv.settings.maxCalls, Region: srv.settings.region,
		LoadThreshold: srv.settings.loadThreshold, CPU: srv.meter.Load,
		Apps: srv.apps, Facts: srv.db, MemoryQuota: memoryQuota(srv.db), RememberBudget: srv.settings.rememberBudget,
	}
	if srv.health != nil {
		cfg.Observe = srv.health.Observe
	}
	srv.served, srv.remote, srv.recalls = served, k.opened, k.recalls
	var err error
	if srv.worker, err = worker.New(cfg, served, srv.book, srv.log); err != nil {
		return err
	}
	srv.desk.Live = srv.worker
	srv.client, err = dispatch.New(dispatch.Config{
		URL: srv.settings.url, APIKey: srv.settings.apiKey, APISecret: srv.settings.apiSecret,
		AgentName: srv.settings.agentName, Version: version, FirstTries: 3,
	}, srv.worker, srv.log)
	return err
}

// serve takes calls until ctx ends, then drains; when now ends too, it ends
// the calls that are left. The logs are shipped, and told to whoever asks, and
// so is health, to the end.
func (srv *server) serve(ctx, now context.Context) error {
	shipping, stopShipping := context.WithCancel(context.WithoutCancel(ctx)) // until the last call is sealed
	defer stopShipping()
	shipped := make(chan error, 1)
	go func() { shipped <- srv.book.Run(shipping) }()
	var beside sync.WaitGroup
	beside.Go(func() { srv.keepBases(shipping) })
	beside.Go(func() { srv.keepIndexed(shipping) })
	beside.Go(func() { srv.measure(shipping) })
	beside.Go(func() { srv.reapplyUntilDone(shipping) })
	beside.Go(func() { srv.tellHealth(shipping) })
	beside.Go(func() { srv.tellOperators(shipping) })
	err := srv.worker.Serve(ctx, now, srv.client, srv.settings.drain)
	stopShipping()
	beside.Wait()
	if shipErr := <-shipped; shipErr != nil && !errors.Is(shipErr, context.Canceled) {
		err = errors.Join(err, shipErr)
	}
	return err
}

func (srv *server) close() error {
	var errs []error
	if srv.health != nil {
		errs = append(errs, srv.health.Close())
	}
	if srv.api != nil {
		errs = append(errs, srv.api.Close())
	}
	if srv.kit != nil {
		errs = append(errs, srv.kit.close())
	}
	if srv.book != nil {
		errs = append(errs, srv.book.Close())
	}
	if srv.db != nil {
		errs = append(errs, srv.db.Close())
	}
	return errors.Join(errs...)
}

// readAgents reads the agent files.
func readAgents(paths []string) ([]worker.Agent, error) {
	if len(paths) == 0 {
		return nil, usageError{errors.New("no agent: name its file with --agent FILE")}
	}
	var agents []worker.Agent
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, usageError{fmt.Errorf("read agent file: %w", err)}
		}
		a, err := worker.ParseAgent(file)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", path, err)}
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// registrationPatience bounds the wait for a worker that the demo has started.
const registrationPatience = 10 * time.Second
