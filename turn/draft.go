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
	called   *called   // the tools that it calls, once it is the reply
	done     *finished // it ended, with nothing but those calls
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
		m.facts = one.out.memory.Facts
	}
	return m
}

// busy tells whether the agent has something else to say.
func (s *state) busy() bool {
	return s.reply != nil || s.owed != nil || s.errand != nil || s.farewell != nil
}

// beginDraft starts a draft as soon as the turn looks over: silence as the
// detector or the recogniser hears it, final words, a sentence that can end
// there, and every lookup in. One at a time, only
// while the agent has nothing else to say, and never while a tool that writes runs: what
// it is answered would be begun without the result.
func (s *state) beginDraft() {
	t := s.turn
	if t == nil || t.undrafted || s.cfg.LateLookups || s.speaking && !t.eager && !t.endpoint || s.draft != nil || s.busy() {
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
	if w := s.writing(); w != nil {
		t.withheld = w.made.Name + ", which writes, was running"
		return
	}
	t.withheld = ""
	m := t.lookups.found()
	s.made.replies++
	s.draft = &draft{
		reply: &reply{id: s.made.replies, kind: KindReply, speech: t.id, interruptible: true, began: s.now},
		text:  text, passages: m.passageIDs(), facts: m.factTexts(),
	}
	s.do(speak{id: s.draft.id, request: s.request(&debt{id: t.id, text: text, material: m}), held: true})
}

// dropDraft throws the draft away and remembers why.
func (s *state) dropDraft(reason string) {
	if s.draft == nil {
		return
	}
	if s.turn != nil {
		s.turn.unsaid = reason
	}
	s.draft.discard(s)
	s.draft = nil
}

// discard stops what still runs of a draft.
func (d *draft) discard(s *state) {
	if d.done == nil {
		s.do(hush{d.id, ErrSuperseded})
	}
}

// adoptDraft hands over the draft, if it still fits the committed turn. The turn keeps
// what came of it.
func (s *state) adoptDraft(d *debt) *draft {
	old := s.draft
	if old == nil {
		return nil
	}
	s.draft = nil
	reason, m := "", d.material
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
	d.unsaid = reason
	if reason != "" {
		old.discard(s)
		return nil
	}
	d.drafted = true
	return old
}

// sameWords compares two texts by their words: a recogniser may yet change the
// case and the punctuation.
func sameWords(a, b string) bool {
	bare := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return a == b || slices.EqualFunc(strings.FieldsFunc(a, bare), strings.FieldsFunc(b, bare), strings.EqualFold)
}
