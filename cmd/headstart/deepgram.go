package main

import (
	"fmt"
	"strings"
	"time"

	"headstart/turn"
	"headstart/turn/stt/deepgram"
	"headstart/turn/stt/flux"
	"headstart/turn/tts/aura"
	"headstart/worker"
)

func (k *kit) deepgram(a worker.Agent) (turn.Recogniser, string, error) {
	var o struct {
		BaseURL        string            `yaml:"base_url"`
		APIKey         string            `yaml:"api_key"`
		EndpointingMS  int               `yaml:"endpointing_ms"`
		UtteranceEndMS int               `yaml:"utterance_end_ms"`
		Extra          map[string]string `yaml:"extra"`
	}
	if err := options(a.STT.Options, &o); err != nil {
		return nil, "", fmt.Errorf("stt: %w", err)
	}
	if strings.HasPrefix(a.STT.Model, "flux-") {
		return nil, "", fmt.Errorf("stt.model: %s is Flux's; use provider flux", a.STT.Model)
	}
	cfg := deepgram.Config{
		APIKey: firstOf(o.APIKey, k.settings.deepgramKey), BaseURL: o.BaseURL, Model: a.STT.Model, Language: primary(a.Language),
		Keyterms: a.Hears, Endpointing: time.Duration(o.EndpointingMS) * time.Millisecond,
		UtteranceEnd: time.Duration(o.UtteranceEndMS) * time.Millisecond, Extra: o.Extra,
	}
	r, err := deepgram.New(cfg, k.log)
	if err != nil {
		return nil, "", fmt.Errorf("stt deepgram (is DEEPGRAM_API_KEY set?): %w", err)
	}
	return r, "deepgram/" + firstOf(a.STT.Model, "nova-3"), nil
}

// flux makes a recogniser that ends turns itself.
func (k *kit) flux(a worker.Agent) (turn.Recogniser, string, error) {
	var o struct {
		BaseURL       string            `yaml:"base_url"`
		APIKey        string            `yaml:"api_key"`
		EOTTimeoutMS  int               `yaml:"eot_timeout_ms"`
		LanguageHints []string          `yaml:"language_hints"`
		Extra         map[string]string `yaml:"extra"`
	}
	if err := options(a.STT.Options, &o); err != nil {
		return nil, "", fmt.Errorf("stt: %w", err)
	}
	model := firstOf(a.STT.Model, flux.Multi)
	if language := primary(a.Language); o.LanguageHints == nil && model == flux.Multi && flux.Hears(language) {
		o.LanguageHints = []string{language}
	}
	cfg := flux.Config{
		APIKey: firstOf(o.APIKey, k.settings.deepgramKey), BaseURL: o.BaseURL, Model: model,
		LanguageHints: o.LanguageHints, Keyterms: a.Hears, EOTTimeout: time.Duration(o.EOTTimeoutMS) * time.Millisecond, Extra: o.Extra,
	}
	if t := a.Turn.EOTThreshold; t != nil {
		cfg.EOTThreshold = *t
	}
	if t := a.Turn.EagerEOTThreshold; t != nil {
		cfg.EagerEOTThreshold = *t
	}
	r, err := flux.New(cfg, k.log)
	if err != nil {
		return nil, "", fmt.Errorf("stt flux (is DEEPGRAM_API_KEY set?): %w", err)
	}
	return r, "deepgram/" + model, nil
}

// aura makes Deepgram's voice. Its models are one voice each, so that either
// field of the agent's voice may name it.
func (k *kit) aura(a worker.Agent) (turn.Voice, string, error) {
	var o struct {
		BaseURL    string `yaml:"base_url"`
		APIKey     string `yaml:"api_key"`
		SampleRate int    `yaml:"sample_rate"`
	}
	if err := options(a.Voice.Options, &o); err != nil {
		return nil, "", fmt.Errorf("voice: %w", err)
	}
	model := firstOf(a.Voice.Model, a.Voice.VoiceID)
	v, err := aura.New(aura.Config{APIKey: firstOf(o.APIKey, k.settings.deepgramKey), BaseURL: o.BaseURL, Model: model, Rate: o.SampleRate}, k.log)
	if err != nil {
		return nil, "", fmt.Errorf("voice deepgram (is DEEPGRAM_API_KEY set?): %w", err)
	}
	return v, "deepgram/" + model, nil
}
