package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"go.uber.org/zap"

	"headstart/worker/health"
	"headstart/worker/load"
)

// Where the health answers are given, and the word for nowhere.
const (
	defaultHealthAddr = ":8081" // LiveKit's own workers' port
	healthOff         = "off"
)

// healthAddrOr is the environment's health address; set and empty is off.
func healthAddrOr(otherwise string) string {
	if addr, ok := os.LookupEnv("HEADSTART_HEALTH_ADDR"); ok {
		return addr
	}
	return otherwise
}

// processors reads NUM_CPUS, LiveKit's own name; 0 is not set.
func processors() (float64, error) {
	v := os.Getenv("NUM_CPUS")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0) {
		return 0, usageError{fmt.Errorf("NUM_CPUS: %q is not a number of processors above 0", v)}
	}
	return n, nil
}

// openMeter makes the meter of our own processor time.
func (srv *server) openMeter() (err error) {
	cpus, from := srv.settings.cpus, "NUM_CPUS"
	if cpus == 0 {
		cpus, from = load.CPUs(os.DirFS("/"), runtime.GOMAXPROCS(0))
	}
	srv.log.Info("processors", zap.Float64("cpus", cpus), zap.String("from", from))
	srv.meter, err = load.New(load.Config{CPUs: cpus}, load.Used)
	return err
}

// openHealth takes the port of the health answers, unless they are turned off.
func (srv *server) openHealth(ctx context.Context) (err error) {
	if addr := srv.settings.healthAddr; addr == "" || addr == healthOff {
		return nil
	}
	node, err := os.Hostname()
	if err != nil {
		node = "unknown" // a label, nothing more
	}
	srv.health, err = health.Listen(ctx, health.Config{
		Addr: srv.settings.healthAddr, Node: node, AgentName: srv.settings.agentName, Version: version,
		Checks: []health.Check{
			{Name: "spool", Fatal: true, Do: func(context.Context) error { return srv.book.Probe() }},
			{Name: "store", Do: srv.db.Ping}, // calls go on without it
		},
	}, srv, srv.log)
	return err
}

// Status implements health.Source.
func (srv *server) Status() health.Status {
	busy, full := srv.worker.Load()
	return health.Status{
		Registered: srv.client.Registered(), Spent: srv.client.Spent(),
		Draining: srv.worker.Draining(), Full: full, Load: busy, Calls: srv.worker.Calls(), Held: srv.apps.Held(),
		Spooled: srv.book.Stats().Unshipped, Abandoned: srv.worker.Abandoned(),
	}
}

// measure runs the meter. Without one the counted places are the only guard.
func (srv *server) measure(ctx context.Context) {
	if err := srv.meter.Run(ctx); err != nil {
		srv.log.Warn("load not measured: calls are refused by their number alone", zap.Error(err))
	}
}

// tellHealth answers until ctx ends. That nobody is told ends no call.
func (srv *server) tellHealth(ctx context.Context) {
	if srv.health == nil {
		return
	}
	srv.log.Info("health", zap.String("address", srv.health.Addr()))
	if err := srv.health.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		srv.log.Error("health not told any more", zap.Error(err))
	}
}
