package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"headstart/worker/api"
)

// demoVoiceNote is what the page tells whoever wants to speak: the demo's
// recogniser hears the recorded calls and nothing else.
const demoVoiceNote = "The demo's ears know only the recorded calls: they will not understand you. Type instead, or give the agent a recogniser (stt: deepgram in testdata/agents/clinica-es.yaml, with DEEPGRAM_API_KEY set)."

// serveWeb serves the page on which a visitor talks to the agent, until the
// context ends.
func (st *stage) serveWeb() error {
	_, err := withWorker(st.cmd.Context(), st, true, func(*server) (struct{}, error) {
		return struct{}{}, st.servePage(st.cmd.Context())
	})
	return err
}

func (st *stage) servePage(ctx context.Context) error {
	agent := st.agents[0]
	note := ""
	if agent.STT.Provider == "replay" {
		note = demoVoiceNote
	}
	pages, err := api.New(api.Config{
		URL: st.settings.url, APIKey: st.settings.apiKey, APISecret: st.settings.apiSecret,
		AgentName: demoAgent, JobMetadata: fmt.Sprintf(`{"agent":%q}`, agent.Name),
		Title: "Clínica Norte", Language: agent.Language, VoiceNote: note,
	}, st.log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", st.options.listen)
	if err != nil {
		return fmt.Errorf("listen for visitors: %w", err)
	}
	out := st.cmd.OutOrStdout()
	fmt.Fprintf(out, "Talk to the agent at http://%s (Ctrl-C ends it)\n", listener.Addr())
	if !pages.VoiceBuilt() {
		fmt.Fprintln(out, "This build has the typed page only: make web adds the microphone.")
	}
	visiting, stop := context.WithCancel(ctx)
	defer stop()
	visits := make(chan error, 1)
	go func() { visits <- pages.Run(visiting) }()
	err = serveHTTP(ctx, listener, pages)
	stop()
	return errors.Join(err, <-visits)
}
