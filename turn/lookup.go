package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headstart/memory"
	"headstart/retrieval"
)

// kind tells the two lookups of a turn apart.
type kind int

const (
	search kind = iota
	recall
	kinds
)

func (k kind) String() string { return [...]string{"search", "recall"}[k] }

// skipped is the code of the Failure that a lookup which did not answer makes.
func (k kind) skipped() string { return [...]string{CodeSearchSkipped, CodeRecallSkipped}[k] }

// lookup is one search or recall, begun for the words in query.
type lookup struct {
	id      int
	query   string
	words   []string // the content words of the query
	began   time.Duration
	came    time.Duration // when it came back
	running bool
	out     findings
}

// lookups are those of one turn: at most one a kind, nil when none was begun.
type lookups map[kind]*lookup

func (l lookups) settled() bool {
	for _, one := range l {
		if one.running {
			return false
		}
	}
	return true
}

// drop cancels what still runs and forgets it.
func (l lookups) drop(s *state, cause error) {
	for k := range kinds {
		if one := l[k]; one != nil && one.running {
			one.running = false
			s.do(drop{one.id, cause})
		}
		delete(l, k)
	}
}

// basesOf are what a lookup of this kind reads before a turn is answered.
func (s *state) basesOf(k kind) []retrieval.Attachment {
	if k == search {
		return s.cfg.Bases
	}
	return nil
}

// active tells whether the agent looks anything up of this kind.
func (s *state) active(k kind) bool {
	if k == search {
		return len(s.cfg.Bases) > 0
	}
	return s.recalls
}

// lookEarly starts the lookups of a turn that is still being spoken, when the
// words are worth it and new ones have come.
func (s *state) lookEarly(t *callerTurn) {
	text := t.text()
	if s.cfg.LateLookups || s.closing != nil || !s.analyser.WorthEarly(text) {
		return
	}
	for k := range kinds {
		s.lookUp(k, t.lookups, text, false)
	}
}

// lookAtCommit adopts the lookups whose words still match, and starts the others.
func (s *state) lookAtCommit(d *debt) {
	if !s.analyser.Worth(d.text) {
		d.lookups.drop(s, ErrSuperseded)
		return
	}
	for k := range kinds {
		s.lookUp(k, d.lookups, d.text, s.written(d))
	}
}

// lookUp makes sure that a lookup for these words is there, running or back.
func (s *state) lookUp(k kind, have lookups, text string, written bool) {
	if !s.active(k) {
		return
	}
	words := s.analyser.Content(text)
	if old := have[k]; old != nil {
		if slices.Equal(old.words, words) {
			return
		}
		if old.running {
			s.do(drop{old.id, ErrSuperseded})
		}
	}
	s.made.lookups++
	have[k] = &lookup{id: s.made.lookups, query: text, words: words, began: s.now, running: true}
	s.do(look{id: have[k].id, kind: k, bases: s.basesOf(k), query: text, before: s.before(), written: written})
}

// written tells of a turn that was typed in a written conversation.
func (s *state) written(d *debt) bool { return s.cfg.Written && d.medium == mediumText }

// budget is what a turn may wait for its lookups.
func (s *state) budget(d *debt) time.Duration {
	if s.written(d) {
		return s.cfg.Timing.WrittenBudget
	}
	return s.cfg.Timing.LookupBudget
}

func (s *state) onFound(f found) {
	for _, c := range s.running {
		if c.searching != nil && c.searching.id == f.id {
			s.onSearched(c, f.out)
			return
		}
	}
	for _, l := range []lookups{s.turnLookups(), s.owedLookups()} {
		for _, one := range l {
			if one.id == f.id && one.running {
				one.running, one.came, one.out = false, s.now, f.out
			}
		}
	}
}

func (s *state) turnLookups() lookups {
	if s.turn == nil {
		return nil
	}
	return s.turn.lookups
}

func (s *state) owedLookups() lookups {
	if s.owed == nil {
		return nil
	}
	return s.owed.lookups
}

// budgetAt is when the committed turn stops waiting: first the lookups are
// cancelled, and a moment later we go on even if one has not returned.
func (s *state) budgetAt() time.Duration {
	if s.owed == nil || s.owed.lookups.settled() {
		return never
	}
	spent := s.owed.committed + s.budget(s.owed)
	if s.owed.cancelled {
		return spent + lookupGrace
	}
	return spent
}

// spendBudget cancels what is missing at the end of the budget, and gives up
// on a searcher that does not return even then.
func (s *state) spendBudget() {
	d := s.owed
	for k := range kinds {
		one := d.lookups[k]
		if one == nil || !one.running {
			continue
		}
		if !d.cancelled {
			s.do(drop{one.id, retrieval.ErrBudgetSpent})
			continue
		}
		one.running, one.came = false, s.now
		one.out = findings{err: fmt.Errorf("%s did not return when it was cancelled: %w", k, retrieval.ErrBudgetSpent)}
	}
	d.cancelled = true
}

// recordLookups writes what the lookups of a turn came to, and returns what
// the model is to be given of it.
func (s *state) recordLookups(d *debt) (m material) {
	if one := d.lookups[search]; one != nil {
		m.passages = s.recordSearch(d, one)
	}
	if one := d.lookups[recall]; one != nil {
		m.facts = s.recordRecall(d, one)
	}
	return m
}

func (s *state) recordSearch(d *debt, l *lookup) []retrieval.Passage {
	switch {
	case errors.Is(l.out.err, retrieval.ErrNoBase):
		return nil
	case l.out.err != nil:
		s.recordSkipped(d, search, l)
		return nil
	}
	return s.recordSources(d, l, DocsSources{WaitedMS: ms(l.waited(d))})
}

// recordSources writes what a search came to, and returns what the model is given of it.
func (s *state) recordSources(d *debt, l *lookup, entry DocsSources) []retrieval.Passage {
	docs := l.out.docs
	passages := retrieval.Limit(docs.Passages, retrieval.SpokenTokens)
	entry.SpeechID, entry.Query, entry.Sources = d.id, l.query, sources(passages)
	entry.Evidence, entry.Cosine, entry.Branches = string(docs.Evidence), docs.Cosine, branches(docs.Branches)
	entry.Followed, entry.Rewritten, entry.Unranked = docs.Followed, docs.Rewritten, reason(docs.Unranked)
	entry.TookMS, entry.StartedMS, entry.EmbedMS = ms(l.came-l.began), ms(l.began-d.ended), ms(docs.EmbedTook)
	s.record(entry)
	if docs.Degraded != nil {
		s.record(Failure{SpeechID: d.id, Code: CodeSearchDegraded, Message: docs.Degraded.Error(), Recoverable: true})
	}
	return passages
}

func (s *state) recordRecall(d *debt, l *lookup) []memory.Fact {
	if l.out.err != nil {
		s.recordSkipped(d, recall, l)
		return nil
	}
	op := MemoryOps{
		SpeechID: d.id, Op: "recall", Query: l.query, Facts: l.out.memory.Facts, Followed: l.out.memory.Followed,
		TookMS: ms(l.came - l.began), WaitedMS: ms(l.waited(d)),
	}
	if op.Facts == nil {
		op.Facts = []memory.Fact{}
	}
	if s.cfg.Contact != nil {
		op.Contact = s.cfg.Contact.ID
	}
	s.record(op)
	return l.out.memory.Facts
}

func (s *state) recordSkipped(d *debt, k kind, l *lookup) {
	reason := l.out.err.Error()
	if errors.Is(l.out.err, retrieval.ErrBudgetSpent) || errors.Is(l.out.err, context.DeadlineExceeded) {
		reason = fmt.Sprintf("%s was cancelled %v after the end of the turn: %v", k, l.waited(d).Round(time.Millisecond), l.out.err)
	}
	s.record(Failure{SpeechID: d.id, Code: k.skipped(), Message: reason, Recoverable: true})
}

// waited is what the turn waited for the lookup.
func (l *lookup) waited(d *debt) time.Duration { return max(0, l.came-d.committed) }

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func sources(passages []retrieval.Passage) []DocSource {
	list := make([]DocSource, 0, len(passages))
	for _, p := range passages {
		list = append(list, DocSource{ID: p.ID, Base: p.Base, Path: p.Path, Heading: p.Heading, Score: p.Score, Excerpt: p.Text})
	}
	return list
}

func branches(list []retrieval.Branch) []string {
	names := make([]string, 0, len(list))
	for _, b := range list {
		names = append(names, string(b))
	}
	return names
}
