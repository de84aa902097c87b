package speech

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"headstart/turn/provider"
)

// ErrSilent is an answer without audio to a text that has something to say.
var ErrSilent = errors.New("answer holds no audio")

// fetch asks for one text and hands its audio to out. It returns how many
// samples it handed over.
func (v *Voice) fetch(ctx context.Context, text string, out chan<- []int16) (int, error) {
	ctx, watch := provider.NewWatch(ctx)
	defer watch.Stop()
	req, err := v.request(ctx, text)
	if err != nil {
		return 0, &provider.Error{Op: "ask voice", Err: err}
	}
	watch.Await("response headers", v.cfg.Connect)
	res, err := v.client.Do(req)
	if err != nil {
		return 0, failed(ctx, "ask voice", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, &provider.Error{Op: "ask voice", Status: res.StatusCode, Again: provider.RetryableStatus(res.StatusCode),
			Err: fmt.Errorf("server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))}
	}
	watch.Await("first audio byte", v.cfg.First)
	samples := 0
	err = v.decode(res, func(pcm []int16) error {
		watch.Pause() // a full queue is ours to wait for, not the server's
		samples += len(pcm)
		select {
		case out <- pcm:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		watch.Await("next audio", v.cfg.Between)
		return nil
	})
	if err == nil {
		err = context.Cause(ctx) // a body that we cut may look like one that ended
	}
	if err == nil && samples == 0 {
		err = ErrSilent
	}
	if err != nil {
		return samples, failed(ctx, "read audio", err)
	}
	return samples, nil
}

func (v *Voice) request(ctx context.Context, text string) (*http.Request, error) {
	body := map[string]any{"model": v.cfg.Model, "voice": v.cfg.Voice, "input": text, "response_format": "pcm"}
	if v.cfg.Instructions != "" {
		body["instructions"] = v.cfg.Instructions
	}
	if v.cfg.Speed != 0 {
		body["speed"] = v.cfg.Speed
	}
	maps.Copy(body, v.cfg.Options)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.cfg.BaseURL+"/audio/speech", bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if v.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+v.cfg.Key)
	}
	return req, nil
}

// decode reads the audio in the shape that the response's own type tells:
// servers ignore what they were asked for.
func (v *Voice) decode(res *http.Response, emit func([]int16) error) error {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "text/event-stream":
		return decodeEvents(res.Body, emit)
	case err == nil && (strings.HasPrefix(kind, "audio/") || kind == "application/octet-stream"):
		return decodeRaw(res.Body, v.cfg.Rate, emit)
	}
	return &formatError{what: "content type " + res.Header.Get("Content-Type")}
}

// formatError is an answer that no second try would change.
type formatError struct{ what string }

func (e *formatError) Error() string { return "server sent " + e.what + ", want 16-bit mono PCM" }

// failed makes the error of a request that broke: our own deadline and a broken
// connection may be retried, the caller's cancellation comes back as its cause.
func failed(ctx context.Context, op string, err error) error {
	var late *provider.TimeoutError
	var format *formatError
	cause := context.Cause(ctx)
	switch {
	case errors.As(cause, &late):
		err = late
	case cause != nil:
		return cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("connection was cut inside the audio")
	}
	return &provider.Error{Op: op, Again: !errors.As(err, &format), Err: err}
}
