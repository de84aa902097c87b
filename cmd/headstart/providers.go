package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/embed"
	"headstart/turn"
	"headstart/turn/llm/extractive"
	"headstart/turn/llm/openai"
	"headstart/turn/stt/replay"
	"headstart/turn/tts/builtin"
	"headstart/turn/tts/espeak"
	"headstart/turn/tts/speech"
	"headstart/turn/vad"
	"headstart/turn/vad/weights"
	"headstart/worker"
)

// kit makes what the agents are served with, from the names in their files.
type kit struct {
	settings settings
	log      *zap.Logger
	library  *retrieval.Library
	large    retrieval.Large // searches what the library does not hold; nil for none
	early    bool            // lookups start while the caller speaks

	saidNoWeights bool
	opened        map[string]retrieval.Embedder // by what the agent files say of them
	recalls       []recalling
	owned         []any // what was made, to be closed
}

// own remembers what was made until close.
func (k *kit) own(made ...any) { k.owned = append(k.owned, made...) }

// close lets go of connections, sessions and files, the newest first, once no
// call is on.
func (k *kit) close() error {
	var errs []error
	for _, made := range slices.Backward(k.owned) {
		switch c := made.(type) {
		case io.Closer:
			errs = append(errs, c.Close())
		case interface{ Close() }:
			c.Close()
		}
	}
	k.owned = nil
	return errors.Join(errs...)
}

// serve makes all that an agent needs, and synthesises its phrases.
func (k *kit) serve(ctx context.Context, a worker.Agent) (worker.Served, error) {
	s := worker.Served{Agent: a, LateLookups: !k.early, LookupBudget: k.settings.lookupBudget, WrittenBudget: k.settings.writtenBudget, Analyser: analyse.New(a.Language)}
	var err [5]error
	s.Recogniser, s.Names.STT, err[0] = k.recogniser(a)
	s.Model, s.Names.LLM, err[1] = k.model(a)
	s.Voice, s.Names.Voice, err[2] = k.voice(a)
	s.Detector, s.Names.VAD, err[3] = k.detector(a)
	if len(a.Docs) > 0 || a.Memory != nil {
		err[4] = k.lookups(ctx, a, &s)
	}
	for i, made := range []any{s.Recogniser, s.Model, s.Voice} {
		if err[i] == nil {
			k.own(made)
		}
	}
	if err := errors.Join(err[:]...); err != nil {
		return worker.Served{}, fmt.Errorf("serve agent %s: %w", a.Name, err)
	}
	return s, s.Prepare(ctx, builtin.New(builtin.Config{Language: a.Language}), k.log)
}

// lookups makes what an agent searches and recalls with: one embedder, asked once
// for both.
func (k *kit) lookups(ctx context.Context, a worker.Agent, s *worker.Served) error {
	embedder, err := k.embedder(ctx, a)
	if err != nil {
		return err
	}
	embedder = embed.Shared(embedder)
	s.Names.Embedder = embedder.Name()
	if len(a.Docs) > 0 {
		searcher, err := k.searcher(a, embedder)
		if err != nil {
			return err
		}
		if a.Rewrite {
			searcher = searcher.WithRewriter(turn.Rewriter{Model: s.Model}, 0)
		}
		s.Searcher = searcher
	}
	return k.memory(a, s, embedder)
}

// options reads the free options of a provider into its own, and refuses a
// name that the provider does not know.
func options(from map[string]any, to any) error {
	if len(from) == 0 {
		return nil
	}
	text, err := yaml.Marshal(from)
	if err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(text, to, yaml.Strict()); err != nil {
		return fmt.Errorf("read options: %s", yaml.FormatError(err, false, false))
	}
	return nil
}

func unknown(what, provider string, known string) error {
	return fmt.Errorf("%s.provider: %q is not known; use one of: %s", what, provider, known)
}

func (k *kit) recogniser(a worker.Agent) (turn.Recogniser, string, error) {
	switch a.STT.Provider {
	case "deepgram":
		return k.deepgram(a)
	case "flux":
		return k.flux(a)
	case "replay":
		var o struct {
			Dir string `yaml:"dir"`
		}
		if err := options(a.STT.Options, &o); err != nil {
			return nil, "", fmt.Errorf("stt: %w", err)
		}
		r, err := replay.New(replay.Config{Dir: o.Dir, Language: primary(a.Language)}, k.log)
		return r, "replay", err
	}
	return nil, "", unknown("stt", a.STT.Provider, "deepgram, flux, replay")
}

func (k *kit) model(a worker.Agent) (turn.Model, string, error) {
	switch a.LLM.Provider {
	case "openai":
		base, key, rest := endpoint(a.LLM.Options, k.settings.openaiKey)
		m, err := openai.New(openai.Config{BaseURL: base, Key: key, Model: a.LLM.Model, Temperature: a.LLM.Temperature, Options: rest}, k.log)
		return m, "openai/" + a.LLM.Model, err
	case "extractive":
		if err := options(a.LLM.Options, &struct{}{}); err != nil {
			return nil, "", fmt.Errorf("llm: %w", err)
		}
		words := analyse.New(a.Language)
		m, err := extractive.New(extractive.Config{
			Language: a.Language, Content: words.Content, Number: func(text string) bool { return !words.Worth(text) },
		})
		return m, "extractive", err
	}
	return nil, "", unknown("llm", a.LLM.Provider, "openai, extractive")
}

func (k *kit) voice(a worker.Agent) (turn.Voice, string, error) {
	v := a.Voice
	switch v.Provider {
	case "openai":
		base, key, rest := endpoint(v.Options, k.settings.openaiKey)
		voice, err := speech.New(speech.Config{BaseURL: base, Key: key, Model: v.Model, Voice: v.VoiceID, Options: rest}, k.log)
		return voice, "openai/" + v.Model, err
	case "deepgram":
		return k.aura(a)
	case "local":
		// espeak-ng where it is installed, the built-in voice elsewhere.
		if espeak.Available() {
			voice, err := espeak.New(espeak.Config{Voice: firstOf(v.VoiceID, primary(a.Language))}, k.log)
			return voice, "espeak-ng", err
		}
		return builtinVoice(a)
	case "espeak":
		voice, err := espeak.New(espeak.Config{Voice: firstOf(v.VoiceID, primary(a.Language))}, k.log)
		return voice, "espeak-ng", err
	case "builtin":
		return builtinVoice(a)
	}
	return nil, "", unknown("voice", v.Provider, "openai, deepgram, local, espeak, builtin")
}

func builtinVoice(a worker.Agent) (turn.Voice, string, error) {
	v := builtin.New(builtin.Config{Language: a.Language})
	return v, v.Name(), nil
}

// endpoint takes the address and the key out of a provider's options; the rest
// goes into the body of its requests.
func endpoint(from map[string]any, otherwise string) (base, key string, rest map[string]any) {
	key = otherwise
	for name, value := range from {
		text, _ := value.(string)
		switch name {
		case "base_url":
			base = text
		case "api_key":
			key = text
		default:
			if rest == nil {
				rest = map[string]any{}
			}
			rest[name] = value
		}
	}
	return base, key, rest
}

// detector makes the detector that the agent names, or the best that is here.
func (k *kit) detector(a worker.Agent) (func() turn.Detector, string, error) {
	energy := func() turn.Detector { return vad.New(vad.NewEnergy(), vad.Config{}) }
	switch a.Turn.VAD {
	case "energy":
		return energy, "energy", nil
	case "", "silero":
	default:
		return nil, "", fmt.Errorf("turn.vad: %q is not known; use silero or energy", a.Turn.VAD)
	}
	model, _ := weights.Find(weights.Silero)
	w, err := vad.Load(weights.Path(k.settings.models, model))
	switch {
	case err == nil:
		return func() turn.Detector { return vad.New(w.NewEngine(), vad.Config{}) }, "silero", nil
	case a.Turn.VAD == "silero" || !errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("turn.vad: %w; get the weights with headstart models pull", err)
	}
	if !k.saidNoWeights {
		k.saidNoWeights = true
		k.log.Info("no weights of Silero here: speech is told from silence by energy; headstart models pull gets them")
	}
	return energy, "energy", nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// primary is the language of a BCP 47 tag: "es" of "es-ES".
func primary(tag string) string {
	for i, r := range tag {
		if r == '-' || r == '_' {
			return tag[:i]
		}
	}
	return tag
}
