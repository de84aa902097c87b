package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headstart/retrieval/embed/embedtest"
	"headstart/turn/llm/openai/openaitest"
	"headstart/turn/stt/deepgram/deepgramtest"
	"headstart/turn/tts/aura/auratest"
	"headstart/turn/tts/speech/speechtest"
	"headstart/worker/port"
)

// fakeOptions are the flags of the fakes.
type fakeOptions struct {
	listen  string
	script  string // a file of utterances, a line each
	embedMS int
	faults  map[string]string // by kind: stt, llm, tts, aura, embed
}

func fakesCommand() *cobra.Command {
	var o fakeOptions
	cmd := &cobra.Command{
		Use:   "fakes",
		Short: "Servers that speak the providers' protocols, and fail on request",
		Long: `One port with a recogniser (Deepgram v1/listen, and v2/listen for Flux), a model
(OpenAI chat completions), two voices (OpenAI audio/speech, Deepgram v1/speak)
and an embedder (OpenAI embeddings), each answering from a script at a fixed
pace. Point the base_url options of an agent file at it.

Each can fail: with --fault at the start, or at run time by POST to /fakes/stt,
/fakes/llm, /fakes/tts, /fakes/aura or /fakes/embed. GET tells what it was asked.`,
		Example: `  headstart fakes --listen 127.0.0.1:9900
  headstart fakes --fault llm=hang --fault tts=refuse
  curl -d '{"fault":"stall"}' http://127.0.0.1:9900/fakes/llm
  curl -d '{"faults":[{"kind":"mute"}]}' http://127.0.0.1:9900/fakes/stt`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveFakes(cmd, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	f.StringVar(&o.script, "script", "", "`FILE` of what callers say, a line for each stretch of speech, again and again")
	f.IntVar(&o.embedMS, "embed-ms", 80, "how long the embedder takes, in milliseconds")
	f.StringToStringVar(&o.faults, "fault", nil, "`KIND=FAULT`, KIND one of stt, llm, tts, aura, embed; may be given more than once")
	return cmd
}

func serveFakes(cmd *cobra.Command, o fakeOptions) error {
	handler, closeFakes, err := newFakes(o)
	if err != nil {
		return err
	}
	defer closeFakes()
	listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for clients: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", listener.Addr())
	return serveHTTP(cmd.Context(), listener, handler)
}

// serveHTTP serves until ctx ends.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return port.Serve(ctx, listener, &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}, nil)
}

// newFakes joins the five servers into one handler.
func newFakes(o fakeOptions) (http.Handler, func(), error) {
	script, err := readUtterances(o.script)
	if err != nil {
		return nil, nil, err
	}
	ears := deepgramtest.New(deepgramtest.Script{Utterances: script, Repeat: true})
	delay := time.Duration(o.embedMS) * time.Millisecond
	if o.embedMS == 0 {
		delay = -1
	}
	socket := auratest.New(auratest.Options{})
	brain, voice, embedder := &openaitest.Server{}, &speechtest.Server{}, &embedtest.Server{Delay: delay}
	for kind, fault := range o.faults {
		switch kind {
		case "stt":
			var f deepgramtest.Fault
			if err := json.Unmarshal(fmt.Appendf(nil, `{"kind":%q}`, fault), &f); err != nil {
				return nil, nil, usageError{fmt.Errorf("--fault stt=%s: %w", fault, err)}
			}
			ears.Break(f)
		case "llm":
			brain.Fail(openaitest.Faults{Fault: openaitest.Fault(fault)})
		case "tts":
			voice.Fail(speechtest.Faults{Fault: speechtest.Fault(fault)})
		case "aura":
			socket.Fail(auratest.Faults{Fault: auratest.Fault(fault)})
		case "embed":
			embedder.Fail(embedtest.Faults{Fault: embedtest.Fault(fault)})
		default:
			return nil, nil, usageError{fmt.Errorf("--fault %s=%s: the kinds are stt, llm, tts, aura and embed", kind, fault)}
		}
	}
	mux := http.NewServeMux()
	for _, route := range []struct {
		paths   []string
		handler http.Handler
	}{
		{[]string{"/v1/listen", "/v2/listen", "/fakes/stt"}, ears},
		{[]string{"/v1/chat/completions", "/fakes/llm"}, brain},
		{[]string{"/v1/audio/speech", "/fakes/tts"}, voice},
		{[]string{"/v1/speak", "/fakes/aura"}, socket},
		{[]string{"/v1/embeddings", "/fakes/embed"}, embedder},
	} {
		for _, path := range route.paths {
			mux.Handle(path, route.handler)
		}
	}
	return mux, func() { ears.Close(); socket.Close() }, nil
}

// readUtterances reads what callers say; without a file, two questions.
func readUtterances(path string) ([]deepgramtest.Utterance, error) {
	if path == "" {
		return []deepgramtest.Utterance{{Text: "quería saber a qué hora abren los sábados"}, {Text: "y cuánto cuesta la primera consulta"}}, nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read script: %w", err)}
	}
	var list []deepgramtest.Utterance
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, deepgramtest.Utterance{Text: line})
		}
	}
	if len(list) == 0 {
		return nil, usageError{fmt.Errorf("read script: %s has no line", path)}
	}
	return list, nil
}
