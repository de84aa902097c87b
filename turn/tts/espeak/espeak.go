// Package espeak says clauses with espeak-ng, where it is installed: one child
// process a clause, fed through its standard input and read as it synthesises.
// It owns its children: none outlives Speak. It fails with a *provider.Error when the
// program is missing, breaks or is late, and with the cause of its context when
// it was cancelled.
package espeak

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/turn/provider"
	"headstart/turn/tts"
)

// Rate is what espeak-ng's own voices give, in hertz.
const Rate = 22050

// The defaults: the contract's deadlines, and an ordinary pace on the phone.
const (
	DefaultProgram = "espeak-ng"
	DefaultVoice   = "es"
	DefaultSpeed   = 165
	DefaultFirst   = 4 * time.Second
	DefaultBetween = 5 * time.Second
)

// Config says which program and voice speak.
type Config struct {
	Program string // DefaultProgram, looked for in the PATH, when empty
	Voice   string // a name of `espeak-ng --voices`; DefaultVoice when empty
	Speed   int    // words a minute, 80 to 450; 0 is DefaultSpeed

	First   time.Duration // start to the first audio; 0 is DefaultFirst
	Between time.Duration // between pieces of audio; 0 is DefaultBetween
}

// voiceName keeps what becomes an argument a name: no option, no path.
var voiceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+_-]*$`)

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Voice != "" && !voiceName.MatchString(c.Voice) {
		errs = append(errs, fmt.Errorf("voice %q is no name of a voice", c.Voice))
	}
	if c.Speed != 0 && (c.Speed < 80 || c.Speed > 450) {
		errs = append(errs, fmt.Errorf("speed %d is not in 80 to 450", c.Speed))
	}
	if c.First < 0 || c.Between < 0 {
		errs = append(errs, errors.New("a deadline is negative"))
	}
	return errors.Join(errs...)
}

// Available tells whether espeak-ng is installed.
func Available() bool {
	_, err := exec.LookPath(DefaultProgram)
	return err == nil
}

// Voice speaks through espeak-ng. It holds no state of a conversation.
type Voice struct {
	cfg Config
	log *zap.Logger
}

// New makes a Voice, or tells that the program is missing.
func New(cfg Config, log *zap.Logger) (*Voice, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure espeak voice: %w", err)
	}
	cfg = withDefaults(cfg)
	path, err := exec.LookPath(cfg.Program)
	if err != nil {
		return nil, fmt.Errorf("find espeak-ng: %w", err)
	}
	cfg.Program = path
	return &Voice{cfg: cfg, log: log.Named("voice")}, nil
}

func withDefaults(cfg Config) Config {
	cfg.Program = cmp.Or(cfg.Program, DefaultProgram)
	cfg.Voice = cmp.Or(cfg.Voice, DefaultVoice)
	cfg.Speed = cmp.Or(cfg.Speed, DefaultSpeed)
	cfg.First = cmp.Or(cfg.First, DefaultFirst)
	cfg.Between = cmp.Or(cfg.Between, DefaultBetween)
	return cfg
}

// Name is the voice that speaks.
func (v *Voice) Name() string { return "espeak-ng/" + v.cfg.Voice }

// Rate is the sample rate of the audio, in hertz.
func (v *Voice) Rate() int { return Rate }

// Fragments implements tts.Fragmented: the melody is set by the marks inside
// what it is given, a comma's at a comma, so a clause sounds as it would in its
// sentence.
func (v *Voice) Fragments() bool { return true }

// Speak implements turn.Voice.
func (v *Voice) Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error {
	return tts.PerClause(ctx, clauses, play, v.say)
}

// reaped bounds the wait for a killed child to let go of its pipes.
const reaped = time.Second

// say runs one child. It returns after the child is gone, whatever happened.
func (v *Voice) say(ctx context.Context, text string, emit func([]int16) error) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	ctx, watch := provider.NewWatch(ctx)
	defer watch.Stop()
	child := exec.CommandContext(ctx, v.cfg.Program, "--stdin", "--stdout", "-b", "1", "-v", v.cfg.Voice, "-s", strconv.Itoa(v.cfg.Speed))
	child.WaitDelay = reaped
	child.Stdin = strings.NewReader(strings.ReplaceAll(text, "[[", "[")) // [[ ]] would be read as phonemes
	out, err := child.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open espeak-ng's output: %w", err)
	}
	watch.Await("first audio byte", v.cfg.First)
	if err := child.Start(); err != nil {
		return failed(ctx, "start espeak-ng", err)
	}
	heard, readErr := v.read(out, watch, emit)
	if readErr != nil {
		watch.Stop() // nobody reads on: the child must not wait for us
	}
	waitErr := child.Wait()
	v.log.Debug("clause synthesised", zap.Int("letters", len(text)), zap.Int("samples", heard))
	switch {
	case readErr != nil:
		return readErr
	case waitErr != nil || ctx.Err() != nil:
		return failed(ctx, "run espeak-ng", waitErr)
	case heard == 0:
		return &provider.Error{Op: "run espeak-ng", Again: true, Err: errors.New("it gave no audio")}
	}
	return nil
}

// headerSize is the length of the WAV header that espeak-ng writes.
const headerSize = 44

// read hands the child's audio on until its output ends. An error of emit comes
// back; one of the pipe does not: the child's end tells more.
func (v *Voice) read(out io.Reader, watch *provider.Watch, emit func([]int16) error) (heard int, err error) {
	r := bufio.NewReaderSize(out, 8192)
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, nil
	}
	if rate := binary.LittleEndian.Uint32(header[24:]); string(header[:4]) != "RIFF" || rate != Rate {
		return 0, &provider.Error{Op: "read espeak-ng's audio", Err: fmt.Errorf("no WAV of %d Hz", Rate)}
	}
	buf := make([]byte, 4096)
	for {
		n, err := io.ReadAtLeast(r, buf, 2)
		if n < 2 {
			return heard, nil
		}
		watch.Pause()
		if n%2 == 1 { // half a sample: fetch the other half
			if _, odd := io.ReadFull(r, buf[n:n+1]); odd == nil {
				n++
			}
		}
		if err := emit(samples(buf[:n])); err != nil {
			return heard, err
		}
		heard += n / 2
		if err != nil {
			return heard, nil
		}
		watch.Await("next audio", v.cfg.Between)
	}
}

func samples(b []byte) []int16 {
	pcm := make([]int16, len(b)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return pcm
}

// failed makes the error of a child that broke: our own deadline may be tried
// again, the caller's cancellation comes back as its cause.
func failed(ctx context.Context, op string, err error) error {
	cause := context.Cause(ctx)
	if late, ok := errors.AsType[*provider.TimeoutError](cause); ok {
		return &provider.Error{Op: op, Again: true, Err: late}
	}
	if cause != nil {
		return cause
	}
	return &provider.Error{Op: op, Err: err}
}
