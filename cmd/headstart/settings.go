package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"headstart/memory"
)

// settings are what the environment and the flags decide for a worker. Flags
// win over the environment.
type settings struct {
	url, apiKey, apiSecret string
	agentName              string
	agents                 []string // agent files
	bases                  []string // NAME=DIR
	data                   string   // where the log and its spools are kept
	database               string   // URL of a PostgreSQL; "" is SQLite in data
	erasures               string   // folder of the ledger of erasures; "" is in data
	models                 string   // where the weights are
	region                 string   // of numbers without a country prefix
	maxCalls               int
	maxChunks              int // of a base that is searched in memory; 0 is no limit
	loadThreshold          float64
	cpus                   float64 // that the process may use; 0 asks its cgroup
	healthAddr             string  // "" and "off" are nowhere
	apiAddr                string  // of /v1; "" and "off" are nowhere
	drain                  time.Duration
	lookupBudget           time.Duration
	writtenBudget          time.Duration
	rememberBudget         time.Duration // 0 is the worker's own
	proposer               memory.Model  // of the demo: asked instead of the agents' models

	deepgramKey, openaiKey, voyageKey string
	cohereKey, jinaKey                string
	operatorKey                       string // that /v1 asks for; empty asks for none
}

// settingsFromEnv reads every variable that a worker knows.
func settingsFromEnv() (settings, error) {
	budget, err := milliseconds("HEADSTART_VOICE_LOOKUP_BUDGET_MS")
	written, writtenErr := milliseconds("HEADSTART_TEXT_LOOKUP_BUDGET_MS")
	remember, rememberErr := seconds("HEADSTART_REMEMBER_BUDGET_S")
	cpus, cpusErr := processors()
	maxChunks, chunksErr := countOf("HEADSTART_INDEX_MAX_CHUNKS")
	return settings{
		url: os.Getenv("LIVEKIT_URL"), apiKey: os.Getenv("LIVEKIT_API_KEY"), apiSecret: os.Getenv("LIVEKIT_API_SECRET"),
		agentName: os.Getenv("LIVEKIT_AGENT_NAME"),
		data:      envOr("HEADSTART_DATA", ".headstart"),
		models:    envOr("HEADSTART_MODELS", defaultModels()),
		region:    os.Getenv("HEADSTART_REGION"),
		drain:     time.Hour, lookupBudget: budget, writtenBudget: written, rememberBudget: remember, cpus: cpus, maxChunks: maxChunks,
		deepgramKey: os.Getenv("DEEPGRAM_API_KEY"), openaiKey: os.Getenv("OPENAI_API_KEY"), voyageKey: os.Getenv("VOYAGE_API_KEY"),
		cohereKey: os.Getenv("COHERE_API_KEY"), jinaKey: os.Getenv("JINA_API_KEY"),
		operatorKey: os.Getenv("HEADSTART_API_KEY"),
	}, errors.Join(err, writtenErr, rememberErr, cpusErr, chunksErr)
}

// countOf reads a number above 0; 0 where there is none.
func countOf(name string) (int, error) {
	v := os.Getenv(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		return 0, usageError{fmt.Errorf("%s: %q is not a number above 0", name, v)}
	}
	return n, nil
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func milliseconds(name string) (time.Duration, error) {
	v := os.Getenv(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		return 0, usageError{fmt.Errorf("%s: %q is not a number of milliseconds above 0", name, v)}
	}
	return time.Duration(n) * time.Millisecond, nil
}

// seconds reads a variable of seconds, with or without a fraction.
func seconds(name string) (time.Duration, error) {
	v := os.Getenv(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0 && n <= 3600) {
		return 0, usageError{fmt.Errorf("%s: %q is not a number of seconds above 0 and up to 3600", name, v)}
	}
	return time.Duration(n * float64(time.Second)), nil
}

func defaultModels() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(".headstart", "models")
	}
	return filepath.Join(dir, "headstart", "models")
}

// workerFlags adds the flags of a worker to a command.
func (s *settings) workerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.agents, "agent", nil, "agent `FILE` to serve (YAML or JSON); may be given more than once")
	f.StringSliceVar(&s.bases, "base", nil, "folder to push into a base before calls are taken, `NAME=DIR`; bases that are in the store need none; may be given more than once")
	f.StringVar(&s.url, "url", s.url, "LiveKit server (LIVEKIT_URL)")
	f.StringVar(&s.agentName, "agent-name", s.agentName, "name for explicit dispatch; without one the worker joins every new room (LIVEKIT_AGENT_NAME)")
	f.StringVar(&s.data, "data", s.data, "`DIR` of the log and its spools (HEADSTART_DATA)")
	databaseFlag(cmd, &s.database)
	f.StringVar(&s.erasures, "erasures", "", "`DIR` of the ledger of erasures and its key, outside what is restored from a backup; none is erasures in --data (HEADSTART_ERASURES)")
	f.IntVar(&s.maxCalls, "max-calls", s.maxCalls, "calls at once; 0 is 8 for each core")
	f.Float64Var(&s.loadThreshold, "load-threshold", s.loadThreshold, "processor load of this process at which calls are refused, above 0; 1 refuses none")
	f.StringVar(&s.healthAddr, "health-addr", s.healthAddr, "`ADDRESS` of /, /ready, /worker and /metrics; off is nowhere (HEADSTART_HEALTH_ADDR)")
	f.StringVar(&s.apiAddr, "api-addr", s.apiAddr, "`ADDRESS` of /v1, for operators; others than loopback need HEADSTART_API_KEY; off is nowhere (HEADSTART_API_ADDR)")
	f.DurationVar(&s.drain, "drain-timeout", s.drain, "how long calls may go on after the first SIGTERM")
	f.StringVar(&s.region, "region", s.region, "country of callers' numbers without a prefix, such as ES (HEADSTART_REGION)")
}

// checkLiveKit tells what is missing to reach a LiveKit server.
func (s settings) checkLiveKit() error {
	var missing []error
	for _, v := range []struct{ name, value string }{
		{"LIVEKIT_URL", s.url}, {"LIVEKIT_API_KEY", s.apiKey}, {"LIVEKIT_API_SECRET", s.apiSecret},
	} {
		if v.value == "" {
			missing = append(missing, fmt.Errorf("%s is not set", v.name))
		}
	}
	if len(missing) > 0 {
		return usageError{fmt.Errorf("no LiveKit server to serve: %w", errors.Join(missing...))}
	}
	return nil
}

// fields are the effective settings for the log, secrets masked.
func (s settings) fields() []zap.Field {
	return []zap.Field{
		zap.String("version", version), zap.String("livekit_url", s.url), zap.String("livekit_api_key", mask(s.apiKey)),
		zap.String("livekit_api_secret", mask(s.apiSecret)), zap.String("agent_name", s.agentName),
		zap.Strings("agents", s.agents), zap.Strings("bases", s.bases), zap.String("data", s.data), zap.String("erasures", erasuresOr(s.erasures, s.data)), zap.String("database", maskURL(s.database)), zap.String("models", s.models),
		zap.String("region", s.region), zap.Int("max_calls", s.maxCalls), zap.Int("index_max_chunks", s.maxChunks),
		zap.Float64("load_threshold", s.loadThreshold), zap.String("health_addr", s.healthAddr), zap.String("api_addr", s.apiAddr), zap.Duration("drain_timeout", s.drain),
		zap.Duration("lookup_budget", s.lookupBudget), zap.Duration("written_lookup_budget", s.writtenBudget), zap.Duration("remember_budget", s.rememberBudget),
		zap.String("deepgram_api_key", mask(s.deepgramKey)), zap.String("openai_api_key", mask(s.openaiKey)),
		zap.String("voyage_api_key", mask(s.voyageKey)), zap.String("cohere_api_key", mask(s.cohereKey)), zap.String("jina_api_key", mask(s.jinaKey)),
		zap.String("api_key", mask(s.operatorKey)),
	}
}

// mask shows that a secret is set, and which one, without telling it.
func mask(secret string) string {
	switch {
	case secret == "":
		return ""
	case len(secret) < 12:
		return "***"
	}
	return secret[:3] + "***"
}

// baseFolders reads the --base flags.
func (s settings) baseFolders() (map[string]string, error) {
	folders := map[string]string{}
	for _, b := range s.bases {
		name, dir, ok := strings.Cut(b, "=")
		if !ok || name == "" || dir == "" {
			return nil, usageError{fmt.Errorf("--base %q: want NAME=DIR", b)}
		}
		folders[name] = dir
	}
	return folders, nil
}

// productionLog writes JSON to stderr.
func productionLog() (*zap.Logger, error) {
	cfg := zap.NewProductionConfig()
	cfg.Sampling = nil
	cfg.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	return cfg.Build()
}

// readableLog writes lines for people to stderr.
func readableLog(level zapcore.Level) (*zap.Logger, error) {
	cfg := zap.NewDevelopmentConfig()
	cfg.Level = zap.NewAtomicLevelAt(level)
	cfg.DisableStacktrace = true
	cfg.DisableCaller = true
	cfg.EncoderConfig.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	return cfg.Build()
}
