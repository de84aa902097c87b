package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"headstart/worker"
	v1 "headstart/worker/api/v1"
	"headstart/worker/app"
)

// Where operators are answered, and the word for nowhere.
const (
	defaultAPIAddr = "127.0.0.1:8080"
	apiOff         = "off"
)

// apiAddrOr is the environment's address of /v1; set and empty is off.
func apiAddrOr(otherwise string) string {
	if addr, ok := os.LookupEnv("HEADSTART_API_ADDR"); ok {
		return addr
	}
	return otherwise
}

// apiConfig is where /v1 is served, to whom, and whose logs; false when it is
// turned off.
func (s settings) apiConfig(agents []worker.Agent) (v1.Config, bool) {
	if s.apiAddr == "" || s.apiAddr == apiOff {
		return v1.Config{}, false
	}
	cfg := v1.Config{Addr: s.apiAddr, Key: s.operatorKey}
	for _, a := range agents {
		cfg.Agents = append(cfg.Agents, a.Name)
	}
	return cfg, true
}

// openAPI takes the port of /v1. A worker that was told to serve it and cannot
// does not start: nobody would notice later.
func (srv *server) openAPI(ctx context.Context, agents []worker.Agent) error {
	cfg, on := srv.settings.apiConfig(agents)
	if !on {
		return nil
	}
	if err := cfg.Validate(); err != nil {
		return usageError{fmt.Errorf("--api-addr: %w; set HEADSTART_API_KEY to serve others, or name a loopback address", err)}
	}
	srv.apps = app.New(app.Config{Agents: cfg.Agents}, srv.book, srv.log)
	cfg.Apps, cfg.Bases = srv.apps, srv.basesAPI(agents)
	cfg.Contacts, cfg.EvalMemory, cfg.Transfers = srv.desk, srv.evalMemory, srv // nobody asks before the agents are there: Run comes after
	api, err := v1.Listen(ctx, cfg, srv.book, srv.db, srv.log)
	if err != nil {
		return fmt.Errorf("%w; --api-addr takes another address, or off", err)
	}
	srv.api = api
	return nil
}

// Transfer passes the caller of a call on.
func (srv *server) Transfer(ctx context.Context, call, to string) error {
	return srv.worker.Transfer(ctx, call, to)
}

// tellOperators answers until ctx ends. That nobody is told ends no call.
func (srv *server) tellOperators(ctx context.Context) {
	if srv.api == nil {
		return
	}
	srv.log.Info("api", zap.String("address", srv.api.Addr()), zap.Bool("key_asked", srv.settings.operatorKey != ""))
	if err := srv.api.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		srv.log.Error("operators not answered any more", zap.Error(err))
	}
}
