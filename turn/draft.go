package turn

import (
	"slices"
	"strings"
	"unicode"

	"headstart/memory"
	"headstart/retrieval"
)

// draft is an answer that was begun before its turn was committed: the model
// writes and the voice speaks, and nothing of it is heard. It becomes the reply
// if at the commit the words and what was looked up are the same.
type draft struct {
	*reply
	text     string // of the turn, when it was begun
	passages []string
	facts    []string
}

// material is what the lookups of a turn give the model.
type material struct {
	passages []retrieval.Passage
	facts    []memory.Fact
}

func (m material) passageIDs() []string {
	ids := make([]string, 0, len(m.passages))
	for _, p := range m.passages {
		ids = append(ids, p.ID)
	}
	return ids
}

func (m material) factTexts() []string {
	texts := make([]string, 0, len(m.facts))
	for _, f := range m.facts {
		texts = append(texts, f.Text)
	}
	return texts
}

// found is what these lookups would give the model now, without a record of it.
func (l lookups) found() material {
	var m material
	if one := l[search]; one != nil && !one.running && one.out.err == nil {
		m.passages = retrieval.Limit(one.out.docs.Passages, retrieval.SpokenTokens)
	}
	if one := l[recall]; one != nil && !one.running && one.out.err == nil {
		m.facts = one.out.facts
	}
	return m
}

// beginDraft starts a draft as soon as the turn looks over: silence as the
// detector or the recogniser hears it, final words, a sentence that can end
// there, and every lookup in. One at a time, and only
// while the agent has nothing else to say.
func (s *state) beginDraft() {
	t := s.turn
	if t == nil || t.undrafted || s.cfg.LateLookups || s.speaking && !t.eager && !t.endpoint || s.draft != nil || s.reply != nil || s.owed != nil || s.farewell != nil {
		return
	}
	text := t.text()
	if !t.eager && (len(t.finals) == 0 || t.interim != "" || s.unfinished(text)) {
		return
	}
	if s.analyser.Worth(text) {
		for k := range kinds {
			s.lookUp(k, t.lookups, text, false)
		}
	}
	if !t.lookups.settled() {
		return
	}
	m := t.lookups.found()
	s.made.replies++
	s.draft = &draft{
		reply: &reply{id: s.made.replies, kind: KindReply, speech: t.id, interruptible: true, began: s.now},
		text:  text, passages: m.passageIDs(), facts: m.factTexts(),
	}
	s.do(speak{id: s.draft.id, request: s.request(t.id, text, m), held: true})
}

// dropDraft throws the draft away and remembers why.
func (s *state) dropDraft(reason string) {
	if s.draft == nil {
		return
	}
	if s.turn != nil {
		s.turn.unsaid = reason
	}
	s.do(hush{s.draft.id, ErrSuperseded})
	s.draft = nil
}

// adoptDraft makes the draft the reply, if it still fits the committed turn.
// Otherwise it says why it does not.
func (s *state) adoptDraft(d *debt, m material) (*reply, string) {
	old := s.draft
	if old == nil {
		return nil, d.unsaid
	}
	s.draft = nil
	reason := ""
	switch {
	case old.speech != d.id:
		reason = "it was for another turn"
	case !sameWords(old.text, d.text):
		reason = "the words changed"
	case !slices.Equal(old.passages, m.passageIDs()):
		reason = "the passages changed"
	case !slices.Equal(old.facts, m.factTexts()):
		reason = "the facts changed"
	}
	if reason != "" {
		s.do(hush{old.id, ErrSuperseded})
		return nil, reason
	}
	return old.reply, ""
}

// sameWords compares two texts by their words: a recogniser may yet change the
// case and the punctuation.
func sameWords(a, b string) bool {
	bare := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return a == b || slices.EqualFunc(strings.FieldsFunc(a, bare), strings.FieldsFunc(b, bare), strings.EqualFold)
}
