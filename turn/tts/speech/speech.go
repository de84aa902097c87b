// Package speech says clauses through OpenAI's audio/speech, streamed; many
// other servers speak the same. It owns the wire, its deadlines and the order of
// the audio, and never changes the words. It fails with a *provider.Error that tells
// whether asking again may help, after the audio that came before it was
// played, and with the cause of its context when it was cancelled. It asks once.
package speech

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/provider"
	"headstart/turn/tts"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultRate is the rate, in hertz, of OpenAI's "pcm".
const DefaultRate = 24000

// The default deadlines, of the contract.
const (
	DefaultConnect = 5 * time.Second
	DefaultFirst   = 4 * time.Second
	DefaultBetween = 5 * time.Second
)

// Config says which server, model and voice are asked.
type Config struct {
	BaseURL      string // DefaultBaseURL when empty
	Key          string // sent as a bearer token; empty sends none
	Model        string // required
	Voice        string // required
	Instructions string // how to speak; not every model takes it
	Speed        float64
	// Rate is what the server's PCM has, in hertz; 0 is DefaultRate. A WAV
	// answer of another rate is an error: it would play too high or too low.
	Rate int
	// Options are further fields of the request body. They win over the fields
	// that this package sends; nil removes one.
	Options map[string]any

	Connect time.Duration // request sent to response headers; 0 is DefaultConnect
	First   time.Duration // headers to the first audio; 0 is DefaultFirst
	Between time.Duration // between pieces of audio; 0 is DefaultBetween

	// Transport carries the requests; nil is a pool of connections of its own.
	Transport http.RoundTripper
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Model == "" {
		errs = append(errs, errors.New("model is empty"))
	}
	if c.Voice == "" {
		errs = append(errs, errors.New("voice is empty"))
	}
	if u, err := url.Parse(c.BaseURL); c.BaseURL != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		errs = append(errs, fmt.Errorf("base url %q is no http url", c.BaseURL))
	}
	if c.Speed != 0 && (c.Speed < 0.25 || c.Speed > 4) {
		errs = append(errs, fmt.Errorf("speed %g is not in 0.25 to 4", c.Speed))
	}
	if c.Rate != 0 && (c.Rate < 8000 || c.Rate > 48000) {
		errs = append(errs, fmt.Errorf("rate %d is not in 8000 to 48000", c.Rate))
	}
	if c.Connect < 0 || c.First < 0 || c.Between < 0 {
		errs = append(errs, errors.New("a deadline is negative"))
	}
	return errors.Join(errs...)
}

// Voice is a voice behind audio/speech. It holds no state of a conversation:
// any number of goroutines may have it speak.
type Voice struct {
	cfg    Config
	log    *zap.Logger
	client *http.Client
	used   lastUse
}

// New makes a Voice. It asks nothing yet.
func New(cfg Config, log *zap.Logger) (*Voice, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure voice: %w", err)
	}
	cfg.BaseURL = strings.TrimRight(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/")
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	cfg.Connect = cmp.Or(cfg.Connect, DefaultConnect)
	cfg.First = cmp.Or(cfg.First, DefaultFirst)
	cfg.Between = cmp.Or(cfg.Between, DefaultBetween)
	if cfg.Transport == nil {
		cfg.Transport = provider.NewTransport(cfg.Connect)
	}
	return &Voice{cfg: cfg, log: log.Named("voice"), client: &http.Client{Transport: cfg.Transport}}, nil
}

// Name is the model and voice that speak.
func (v *Voice) Name() string { return v.cfg.Model + "/" + v.cfg.Voice }

// Rate is the sample rate of the audio, in hertz.
func (v *Voice) Rate() int { return v.cfg.Rate }

// Fragments implements tts.Fragmented: the models read on from what is no whole
// sentence, and the first sound is sooner.
func (v *Voice) Fragments() bool { return true }

// Close lets idle connections go.
func (v *Voice) Close() { v.client.CloseIdleConnections() }

// take is one clause being fetched. Its goroutine writes err, then closes
// audio; the player reads err after that.
type take struct {
	audio chan []int16
	err   error
}

// ahead is how many pieces of a clause may wait to be played: more than a
// minute of audio, so that a server is never held up by our pace.
const ahead = 1024

// errBurst is the cause that stops a voice of which a part panicked.
var errBurst = errors.New("panicked")

// Speak implements turn.Voice. While a clause plays, the next one is fetched.
func (v *Voice) Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error {
	v.used.touch()
	ctx, cancel := context.WithCancelCause(ctx)
	fetching := crew.Crew{Stop: func() { cancel(errBurst) }}
	defer fetching.Wait()
	defer cancel(nil)
	queue := make(chan *take) // without room: one clause plays, one is fetched
	fetching.Do(func() {
		defer close(queue)
		v.fetchAll(ctx, clauses, queue, &fetching)
	})
	for n := 0; ; n++ {
		next, ok := <-queue
		if !ok {
			return context.Cause(ctx)
		}
		if err := playTake(ctx, n, next, play); err != nil {
			return err
		}
	}
}

// fetchAll starts the clauses as they come, each once the one before is playing.
func (v *Voice) fetchAll(ctx context.Context, clauses <-chan string, queue chan<- *take, fetching *crew.Crew) {
	for {
		select {
		case <-ctx.Done():
			return
		case text, ok := <-clauses:
			if !ok {
				return
			}
			next := &take{audio: make(chan []int16, ahead)}
			fetching.Do(func() {
				defer close(next.audio)
				next.err = v.fetchClause(ctx, text, next.audio)
			})
			select {
			case <-ctx.Done():
				return
			case queue <- next:
			}
		}
	}
}

func playTake(ctx context.Context, n int, next *take, play func(tts.Audio) error) error {
	for pcm := range next.audio {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := play(tts.Audio{Clause: n, PCM: pcm}); err != nil {
			return err
		}
	}
	if next.err != nil {
		return next.err
	}
	return play(tts.Audio{Clause: n, Last: true})
}

// fetchClause fetches a clause, in as many requests as its length needs.
func (v *Voice) fetchClause(ctx context.Context, text string, out chan<- []int16) error {
	if !sounds(text) {
		return nil // servers refuse an empty input, or make noises of bare punctuation
	}
	began, samples := time.Now(), 0
	for _, part := range split(text, maxInput) {
		n, err := v.fetch(ctx, part, out)
		samples += n
		if err != nil {
			return err
		}
	}
	v.log.Debug("clause synthesised", zap.Int("letters", len(text)), zap.Duration("took", time.Since(began)),
		zap.Duration("audio", time.Duration(samples)*time.Second/time.Duration(v.cfg.Rate)))
	return nil
}

func sounds(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) })
}

// maxInput is how many characters a request may hold, as OpenAI states it.
const maxInput = 4096

// split cuts a text into parts of at most so many characters, at the end of a
// sentence in the second half of a part, else at a space.
func split(text string, most int) []string {
	var parts []string
	runes := []rune(strings.TrimSpace(text))
	for len(runes) > most {
		end := cut(runes, most)
		parts = append(parts, strings.TrimSpace(string(runes[:end])))
		runes = []rune(strings.TrimSpace(string(runes[end:])))
	}
	return append(parts, string(runes))
}

func cut(runes []rune, most int) int {
	for _, marks := range []string{".!?…", ""} {
		for i := most; i > most/2; i-- {
			if unicode.IsSpace(runes[i]) && (marks == "" || strings.ContainsRune(marks, runes[i-1])) {
				return i
			}
		}
	}
	return most
}
