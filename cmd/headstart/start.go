package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"headstart/worker/devserver"
)

func startCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Serve agents in production, with JSON logs",
		Long: `Registers with the LiveKit server of LIVEKIT_URL, LIVEKIT_API_KEY and
LIVEKIT_API_SECRET, and takes calls. The first SIGTERM refuses new calls and lets
the others finish; a second one ends them. When LiveKit stays unreachable for
every try, the process ends with 1 once its last call is over.`,
		Example: `  headstart start --agent clinica.yaml --base clinica-norte=./knowledge
  LIVEKIT_AGENT_NAME=recepcion headstart start --agent clinica.yaml --max-calls 40`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.checkLiveKit(); err != nil {
				return err
			}
			log, err := productionLog()
			if err != nil {
				return fmt.Errorf("open log: %w", err)
			}
			defer log.Sync() // stderr: nothing to do about a failure
			return s.serve(cmd.Context(), log)
		},
	}
	return s.withEnv(cmd, settings{healthAddr: defaultHealthAddr, apiAddr: defaultAPIAddr, loadThreshold: 0.7})
}

func devCommand() *cobra.Command {
	var s settings
	var debug bool
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Serve agents while you change them, with readable logs",
		Long: `Like start, with logs for people. Without LIVEKIT_URL it runs a LiveKit server
of its own on loopback, and prints what a client needs to reach it.`,
		Example: `  headstart dev --agent clinica.yaml --base clinica-norte=./knowledge`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := zapcore.InfoLevel
			if debug {
				level = zapcore.DebugLevel
			}
			log, err := readableLog(level)
			if err != nil {
				return fmt.Errorf("open log: %w", err)
			}
			defer log.Sync() // stderr: nothing to do about a failure
			if s.url == "" {
				server, err := startLiveKit(cmd, &s)
				if err != nil {
					return err
				}
				defer server.Stop() // the process ends anyway
				fmt.Fprintf(cmd.OutOrStdout(), "LIVEKIT_URL=%s\nLIVEKIT_API_KEY=%s\nLIVEKIT_API_SECRET=%s\n", s.url, s.apiKey, s.apiSecret)
			}
			if err := s.checkLiveKit(); err != nil {
				return err
			}
			return s.serve(cmd.Context(), log)
		},
	}
	cmd.Flags().BoolVar(&debug, "debug", false, "log everything")
	return s.withEnv(cmd, settings{healthAddr: healthOff, apiAddr: defaultAPIAddr, loadThreshold: 1}) // it shares the machine with whoever changes it
}

// withEnv fills the settings from the environment, and those that differ
// between commands from defaults, and adds the flags, whose defaults they are.
func (s *settings) withEnv(cmd *cobra.Command, defaults settings) *cobra.Command {
	var err error
	*s, err = settingsFromEnv()
	s.healthAddr, s.apiAddr, s.loadThreshold = healthAddrOr(defaults.healthAddr), apiAddrOr(defaults.apiAddr), defaults.loadThreshold
	s.workerFlags(cmd)
	if err != nil {
		cmd.PreRunE = func(*cobra.Command, []string) error { return err }
	}
	return cmd
}

// serve runs a worker until the context ends, which the first signal does.
func (s settings) serve(ctx context.Context, log *zap.Logger) error {
	agents, err := readAgents(s.agents)
	if err != nil {
		return err
	}
	s.database = databaseOr(s.database)
	log.Info("starting", s.fields()...)
	srv, err := openServer(ctx, s, agents, true, log)
	if err != nil {
		return err
	}
	now, stop := secondSignal(ctx)
	defer stop()
	return errors.Join(srv.serve(ctx, now), srv.close())
}

// secondSignal is a context that ends with the second signal; the first one
// ends ctx. When ctx has ended already, the next signal is the second.
func secondSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	now, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ctx ends with the first signal
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	due := 2
	if ctx.Err() != nil {
		due = 1
	}
	go func() {
		defer signal.Stop(signals)
		for range due {
			select {
			case <-now.Done():
				return
			case <-signals:
			}
		}
		cancel()
	}()
	return now, cancel
}

// startLiveKit runs a LiveKit server as a child and points the settings at it.
func startLiveKit(cmd *cobra.Command, s *settings) (*devserver.Server, error) {
	progress := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
	server, err := devserver.Start(cmd.Context(), devserver.Config{Progress: progress})
	if err != nil {
		return nil, fmt.Errorf("run a LiveKit server here: %w", err)
	}
	s.url, s.apiKey, s.apiSecret = server.URL, server.APIKey, server.APISecret
	return server, nil
}
