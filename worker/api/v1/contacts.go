package v1

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
)

// Contacts is the operator's hand on what is remembered: a contacts.Desk.
type Contacts interface {
	Memories
	Forget(ctx context.Context, contact string) (contacts.Receipt, error)
}

// Memories shows and changes what is remembered of one contact.
type Memories interface {
	Memory(ctx context.Context, contact string) (contacts.Memory, error)
	Correct(ctx context.Context, contact, fact, text string) (memory.Held, error)
	Delete(ctx context.Context, contact, fact string) error
}

const (
	// forgetWithin bounds an erasure: a contact may have years of calls.
	forgetWithin = time.Minute
	largestBody  = 1 << 20
)

var (
	noFact     = refusal{http.StatusNotFound, "fact", "This contact has no such fact, or does not hold it any more."}
	noText     = refusal{http.StatusBadRequest, "text", "Send {\"text\": …}, a sentence of at most 500 characters."}
	secretText = refusal{http.StatusBadRequest, "secret", "Numbers of cards, accounts and identity documents, and passcodes, are never kept."}
	noJSON     = refusal{http.StatusUnsupportedMediaType, "content_type", "Send application/json."}
	onTheLine  = refusal{http.StatusConflict, "elsewhere", "Another process is on a call with this contact. Ask that one, or try again after the call."}
	notErased  = refusal{http.StatusServiceUnavailable, "erasure", "The erasure is noted and not complete. Ask again; the next start finishes it too."}
	noContacts = refusal{http.StatusNotFound, "contacts", "This server keeps no contacts."}
)

// Fact is a memory.Held as the wire carries it.
type Fact struct {
	ID         string    `json:"id"`
	Text       string    `json:"text"`
	Category   string    `json:"category,omitempty"`
	Confidence float64   `json:"confidence"`
	Source     string    `json:"source,omitempty"` // the call that taught it; absent for an operator
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until,omitzero"`      // when it stopped being held
	ClosedBy   string    `json:"closed_by,omitempty"` // the call that closed it
	Quote      string    `json:"quote,omitempty"`     // the caller's words that support it
	Turn       string    `json:"turn,omitempty"`      // in which they were said
}

// WireFact is a fact for the wire.
func WireFact(f memory.Held) Fact {
	return Fact{
		ID: f.ID, Text: f.Text, Category: f.Category, Confidence: f.Confidence, Source: f.Source, Since: f.Since.UTC(),
		Until: f.Until.UTC(), ClosedBy: f.ClosedBy, Quote: f.Quote, Turn: f.Turn,
	}
}

// Memory is all that is remembered of a contact, and was, as the wire carries it.
type Memory struct {
	Contact string `json:"contact"`
	Facts   []Fact `json:"facts"`   // held now, the oldest first
	History []Fact `json:"history"` // held no more, likewise
}

// WireMemory is a contact's memory for the wire.
func WireMemory(contact string, m contacts.Memory) Memory {
	return Memory{contact, wireFacts(m.Held), wireFacts(m.Closed)}
}

func wireFacts(list []memory.Held) []Fact {
	facts := make([]Fact, 0, len(list))
	for _, f := range list {
		facts = append(facts, WireFact(f))
	}
	return facts
}

// routeContacts adds what is asked of contacts.
func (s *Server) routeContacts(mux *http.ServeMux) {
	there := s.cfg.Contacts != nil
	mux.HandleFunc("GET /v1/contacts/{id}/memory", served(there, noContacts, s.showMemory))
	mux.HandleFunc("POST /v1/contacts/memory/eval", served(s.cfg.EvalMemory != nil, noContacts, s.evalMemory))
	mux.HandleFunc("DELETE /v1/contacts/{id}", served(there, noContacts, s.forgetContact))
	mux.HandleFunc("PUT /v1/contacts/{id}/memory/{fact}", served(there, noContacts, s.correctFact))
	mux.HandleFunc("DELETE /v1/contacts/{id}/memory/{fact}", served(there, noContacts, s.deleteFact))
}

// served is what answers where there is something to answer of; elsewhere it is
// refused.
func served(there bool, otherwise refusal, handle http.HandlerFunc) http.HandlerFunc {
	if there {
		return handle
	}
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, otherwise) }
}

// showMemory answers GET /v1/contacts/{id}/memory. A contact that nothing is
// remembered of is no other than one who never called.
func (s *Server) showMemory(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	m, err := s.cfg.Contacts.Memory(ctx, r.PathValue("id"))
	if err != nil {
		s.storeFailed(w, err)
		return
	}
	answer(w, http.StatusOK, WireMemory(r.PathValue("id"), m))
}

// forgetContact answers DELETE /v1/contacts/{id} with the receipt.
func (s *Server) forgetContact(w http.ResponseWriter, r *http.Request) {
	// Who asked may leave: what was begun is finished.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(r.Context()), forgetWithin, errForgetting)
	defer cancel()
	receipt, err := s.cfg.Contacts.Forget(ctx, r.PathValue("id"))
	switch {
	case errors.Is(err, calllog.ErrElsewhere):
		refuse(w, onTheLine)
	case err != nil:
		s.log.Warn("contact not forgotten whole", zap.Error(err))
		refuse(w, notErased)
	default:
		answer(w, http.StatusOK, receipt)
	}
}

var errForgetting = errors.New("not forgotten within " + forgetWithin.String())

// correctFact answers PUT /v1/contacts/{id}/memory/{fact}.
func (s *Server) correctFact(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Text string `json:"text"`
	}
	if !readJSON(w, r, &body, noText) {
		return
	}
	ctx, cancel := patience(r.Context())
	defer cancel()
	f, err := s.cfg.Contacts.Correct(ctx, r.PathValue("id"), r.PathValue("fact"), body.Text)
	switch {
	case errors.Is(err, contacts.ErrText):
		refuse(w, noText)
	case errors.Is(err, contacts.ErrSecret):
		refuse(w, secretText)
	case errors.Is(err, memory.ErrNoFact):
		refuse(w, noFact)
	case err != nil:
		s.storeFailed(w, err)
	default:
		answer(w, http.StatusOK, WireFact(f))
	}
}

// deleteFact answers DELETE /v1/contacts/{id}/memory/{fact}.
func (s *Server) deleteFact(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := patience(r.Context())
	defer cancel()
	err := s.cfg.Contacts.Delete(ctx, r.PathValue("id"), r.PathValue("fact"))
	switch {
	case errors.Is(err, memory.ErrNoFact):
		refuse(w, noFact)
	case err != nil:
		s.storeFailed(w, err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// readJSON reads a body, or refuses it. The type that is asked for keeps forms
// of other people's pages out.
func readJSON(w http.ResponseWriter, r *http.Request, into any, bad refusal) bool {
	if !isJSON(r) {
		refuse(w, noJSON)
		return false
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestBody)).Decode(into); err != nil {
		refuse(w, bad)
		return false
	}
	return true
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
