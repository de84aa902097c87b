package health

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"headstart/turn"
)

// other is the label of what is in no list: a label never carries words that
// somebody else chose.
const other = "other"

// The values of the labels. A series stands at zero from the start, so that an
// alert on its growth sees the first one.
var (
	reasons = []string{
		"caller_hung_up", "agent_hung_up", "supervisor_ended", "transferred", "no_answer", "busy", "dial_failed",
		"timeout", "drained", "app_detached", "error", other,
	}
	codes = []string{
		turn.CodeSearchSkipped, turn.CodeSearchDegraded, turn.CodeRecallSkipped, turn.CodeRememberFailed,
		turn.CodeSTT, turn.CodeLLM, turn.CodeTTS, turn.CodeRoom, turn.CodeTransfer, turn.CodePanic, other,
	}
	// skipped names the kinds of lookups by the code of their absence.
	skipped = map[string]string{turn.CodeSearchSkipped: "search", turn.CodeRecallSkipped: "recall"}
)

// Buckets in seconds: of what a caller waits, and of waits around the lookups'
// budget of 250 ms, which is mostly not touched at all.
var (
	waits   = []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10}
	lookups = []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1, 3}
)

// metrics are the figures of this process, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry

	latency, firstToken, firstByte, endOfTurn, transcription, lookupWait prometheus.Histogram
	ended, skipped, errors, tools                                        *prometheus.CounterVec
}

func newMetrics(node string, source Source, checks *checks) *metrics {
	m := &metrics{
		registry:      prometheus.NewRegistry(),
		latency:       seconds("lk_agents_turn_e2e_latency_seconds", "From the end of the caller's speech to the first frame of the answer on the track.", waits),
		firstToken:    seconds("lk_agents_turn_llm_ttft_seconds", "From the request to the model's first token, as far as the turn waited for it.", waits),
		firstByte:     seconds("lk_agents_turn_tts_ttfb_seconds", "From the first clause given to the voice to its first audio.", waits),
		endOfTurn:     seconds("lk_agents_turn_end_of_turn_delay_seconds", "From the end of the caller's speech to the decision that the turn is over.", waits),
		transcription: seconds("lk_agents_turn_transcription_delay_seconds", "From the end of the caller's speech to the last final transcript.", waits),
		lookupWait:    seconds("lk_agents_turn_lookup_wait_seconds", "From the end of the turn to the last lookup in or cancelled.", lookups),
		ended:         counters("headstart_calls_ended_total", "Calls that ended, by reason.", "reason", reasons),
		skipped:       counters("headstart_lookups_skipped_total", "Lookups that a turn went on without, by kind.", "kind", []string{"search", "recall"}),
		tools:         counters("headstart_tool_calls_total", "Calls of apps' tools, by what came back.", "result", []string{"output", "error"}),
		errors:        counters("headstart_errors_total", "Failures in the logs of calls, by code.", "code", codes),
	}
	m.registry.MustRegister(
		m.latency, m.firstToken, m.firstByte, m.endOfTurn, m.transcription, m.lookupWait, m.ended, m.skipped, m.errors, m.tools,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registry.MustRegister(states(node, source)...)
	for i, check := range checks.list {
		m.registry.MustRegister(gauge("headstart_self_check_up", "Whether a self-check passed last time.",
			prometheus.Labels{"check": check.Name}, func() float64 { return one(checks.passes(i)) }))
	}
	return m
}

// states are read from the worker when they are asked for.
func states(node string, source Source) []prometheus.Collector {
	labels := prometheus.Labels{"nodename": node}
	return []prometheus.Collector{
		gauge("lk_agents_active_job_count", "Calls that are taken and not over.", labels, func() float64 { return float64(source.Status().Calls) }),
		gauge("lk_agents_worker_load", "Load as LiveKit is told, from 0 to below 1.", labels, func() float64 { return source.Status().Load }),
		gauge("headstart_agents_held", "Agents that an app holds by its socket.", nil, func() float64 { return float64(source.Status().Held) }),
		gauge("headstart_registered", "Whether LiveKit can offer calls.", nil, func() float64 { return one(source.Status().Registered) }),
		gauge("headstart_log_spooled_entries", "Log entries that wait for the store.", nil, func() float64 { return float64(source.Status().Spooled) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "headstart_teardown_abandoned_total", Help: "What calls left behind because it did not end in time.",
		}, func() float64 { return float64(source.Status().Abandoned) }),
	}
}

// Observe counts one event of a call's log: it is the worker's observer.
func (s *Server) Observe(ev turn.Event) { s.metrics.observe(ev) }

func (m *metrics) observe(ev turn.Event) {
	switch ev := ev.(type) {
	case turn.MetricsTurn:
		m.turn(ev)
	case turn.CallEnded:
		m.ended.WithLabelValues(oneOf(reasons, ev.Reason)).Inc()
	case turn.ToolResulted:
		if ev.Error != "" {
			m.tools.WithLabelValues("error").Inc()
		} else {
			m.tools.WithLabelValues("output").Inc()
		}
	case turn.Failure:
		m.errors.WithLabelValues(oneOf(codes, ev.Code)).Inc()
		if kind, ok := skipped[ev.Code]; ok {
			m.skipped.WithLabelValues(kind).Inc()
		}
	}
}

// turn counts the stages of an answered turn. A stage that the turn did not
// have, because no model was asked or the answer lay ready, is no wait of zero.
func (m *metrics) turn(ev turn.MetricsTurn) {
	for _, always := range []struct {
		histogram prometheus.Histogram
		ms        float64
	}{
		{m.latency, ev.FirstAudioMS}, {m.endOfTurn, ev.EndpointingMS}, {m.transcription, ev.TranscriptMS}, {m.lookupWait, ev.LookupWaitMS},
	} {
		always.histogram.Observe(max(0, always.ms) / 1000)
	}
	if ev.FirstTokenMS > 0 {
		m.firstToken.Observe(ev.FirstTokenMS / 1000)
	}
	if ev.FirstByteMS > 0 {
		m.firstByte.Observe(ev.FirstByteMS / 1000)
	}
}

func seconds(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func counters(name, help, label string, values []string) *prometheus.CounterVec {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		all.WithLabelValues(v)
	}
	return all
}

func gauge(name, help string, labels prometheus.Labels, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func oneOf(known []string, value string) string {
	if slices.Contains(known, value) {
		return value
	}
	return other
}
