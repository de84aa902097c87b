package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
)

// beat keeps a silent stream alive through proxies, and finds readers gone.
const beat = 15 * time.Second

// open answers POST /visits.
func (p *Pages) open(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Mode string `json:"mode"`
	}
	if !decode(w, r, &asked) {
		return
	}
	switch asked.Mode {
	case "browser":
		p.openBrowser(w)
	case "typed":
		p.openTyped(w, r)
	default:
		refuse(w, refusal{http.StatusBadRequest, "mode", `The mode must be "browser" or "typed".`})
	}
}

// openBrowser lets a browser join by itself. It takes no place of the typed
// visits: what limits such calls is the worker's own admission.
func (p *Pages) openBrowser(w http.ResponseWriter) {
	room := "web-" + rand.Text()
	token, identity, err := p.config.Door.Token(room)
	if err != nil {
		p.log.Error("make token", zap.Error(err))
		refuse(w, refusal{http.StatusInternalServerError, "token", "The call could not be prepared."})
		return
	}
	answer(w, http.StatusCreated, map[string]string{"url": p.config.URL, "token": token, "room": room, "identity": identity})
}

func (p *Pages) openTyped(w http.ResponseWriter, r *http.Request) {
	v, err := p.desk.open(r.Context())
	switch {
	case errors.Is(err, errFull):
		refuse(w, refusal{http.StatusTooManyRequests, "full", fmt.Sprintf("All %d places are taken. Try again in a few minutes.", p.config.MaxVisits)})
	case errors.Is(err, errClosed):
		refuse(w, refusal{http.StatusServiceUnavailable, "closed", "No visits are taken now."})
	case err != nil:
		p.log.Warn("open visit", zap.Error(err))
		refuse(w, refusal{http.StatusBadGateway, "unreachable", "The LiveKit server could not be reached."})
	default:
		answer(w, http.StatusCreated, map[string]string{"id": v.id})
	}
}

// message answers POST /visits/{id}/messages.
func (p *Pages) message(w http.ResponseWriter, r *http.Request) {
	v, ok := p.desk.find(r.PathValue("id"))
	if !ok {
		refuse(w, unknown)
		return
	}
	var said struct {
		Text string `json:"text"`
	}
	if !decode(w, r, &said) {
		return
	}
	text := strings.TrimSpace(said.Text)
	switch {
	case text == "":
		refuse(w, refusal{http.StatusBadRequest, "empty", "The message is empty."})
	case utf8.RuneCountInString(text) > longestText:
		refuse(w, tooLong)
	default:
		p.delivered(w, v.say(r.Context(), text))
	}
}

func (p *Pages) delivered(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		answer(w, http.StatusAccepted, struct{}{})
	case errors.Is(err, errOver):
		refuse(w, unknown)
	case errors.Is(err, errAbsent):
		refuse(w, refusal{http.StatusGatewayTimeout, "absent", "No agent has answered."})
	default:
		p.log.Warn("deliver message", zap.Error(err))
		refuse(w, refusal{http.StatusBadGateway, "undelivered", "The message did not reach the agent."})
	}
}

// hangUp answers DELETE /visits/{id}, when the visit is over.
func (p *Pages) hangUp(w http.ResponseWriter, r *http.Request) {
	v, ok := p.desk.find(r.PathValue("id"))
	if !ok {
		refuse(w, unknown)
		return
	}
	v.end(hungUp)
	select {
	case <-v.over:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

// events answers GET /visits/{id}/events, until the visit is over or its reader
// is gone. A reader who comes back says which event was the last.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	v, ok := p.desk.find(r.PathValue("id"))
	if !ok {
		refuse(w, unknown)
		return
	}
	defer v.watch()()
	last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil || last < 0 {
		last = 0 // from the beginning
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	if err := v.tell(r.Context(), w, last); err != nil {
		v.log.Debug("reader of events gone", zap.Error(err))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the connection goes on
}

// tell writes events as they come, each batch within its deadline.
func (v *visit) tell(ctx context.Context, w http.ResponseWriter, last int64) error {
	heart := time.NewTicker(beat)
	defer heart.Stop()
	text := "retry: 1000\n\n"
	for {
		events, ended, more := v.journal.after(last)
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("encode event: %w", err)
			}
			text += fmt.Sprintf("id: %d\ndata: %s\n\n", e.Seq, data)
			last = e.Seq
		}
		if err := send(w, text); err != nil || ended {
			return err
		}
		text = ""
		select {
		case <-more:
		case <-heart.C:
			text = ": still here\n\n"
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send writes a piece of a stream and lets it go.
func send(w http.ResponseWriter, text string) error {
	writeSoon(w)
	if _, err := w.Write([]byte(text)); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("flush events: %w", err)
	}
	return nil
}
