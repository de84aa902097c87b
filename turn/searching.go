package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"headstart/retrieval"
	"headstart/turn/llm"
)

// This file is the platform's tool search, by which the model looks documents up when it
// wants to. It is called as a tool that reads and run as a lookup, whose budget counts
// from the call:
//
//	called --> searching -- back -----------------> docs.sources, {"chunks":[...]}
//	               | the budget is spent              ^
//	               v                                  | the words, when they are in
//	           cancelled ------ back -----------------+
//	               | neither, 10 ms later, or it failed
//	               v
//	           search_skipped, an error that the model reads
//
// Where nothing is searched, as without a letter in the query, the log has no more than
// the call and the model reads that nothing was found: no call is without its result.

// searchParameters are what the model may say of a search. Whose documents and which are
// searched is not the model's to say: anything else is refused.
var searchParameters = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to look for, as one question or a few words in the caller's language that can be understood by themselves."}},"required":["query"],"additionalProperties":false}`)

var searchSchema = sync.OnceValue(func() schema {
	s, err := compileSchema(searchParameters)
	if err != nil {
		panic(fmt.Errorf("compile parameters of search: %w", err)) // they are ours
	}
	return s
})

// searchTool is the tool by which the model searches bases.
func searchTool(bases, retrieved []retrieval.Attachment) tool {
	description := "Search the documents of the business: " + namesOf(bases) + ". " +
		"Call it before you answer a question of theirs that no result answers yet, and again in other words if nothing fits; never for small talk."
	if len(retrieved) > 0 {
		description += " The results of search that you are given without calling it are of other documents: " + namesOf(retrieved) + "."
	}
	return tool{Tool{Name: search.String(), Description: description, Parameters: searchParameters, SideEffect: SideEffectRead}, searchSchema()}
}

func namesOf(bases []retrieval.Attachment) string {
	names := make([]string, len(bases))
	for i, b := range bases {
		names[i] = b.Base
	}
	return strings.Join(names, ", ")
}

// offeredSearch is the tool search as requests carry it, nil when the model has none.
func (s *state) offeredSearch() []llm.Tool {
	if t, ok := s.tools[search.String()]; ok {
		return []llm.Tool{t.offered()}
	}
	return nil
}

// searching is a call of the tool search.
type searching struct {
	*lookup
	debt  *debt
	spent bool // its budget is, and it was cancelled
}

// searchFor begins the search that the model called for.
func (s *state) searchFor(c *toolCall, d *debt) {
	var asked struct {
		Query string `json:"query"`
	}
	_ = json.Unmarshal(c.made.Arguments, &asked) // they fit the schema
	if !s.analyser.Worth(asked.Query) {
		s.resolve(c, ToolOutput{Output: retrieval.ToolResult(nil)})
		return
	}
	s.made.lookups++
	c.ran, c.running, c.tool.Timeout = true, true, s.budget(d)
	c.searching = &searching{lookup: &lookup{id: s.made.lookups, query: asked.Query, began: s.now, running: true}, debt: d}
	s.running = append(s.running, c)
	s.do(look{id: c.searching.id, kind: search, bases: s.cfg.ToolBases, query: asked.Query, before: d.before, written: s.written(d)})
}

// onSearched takes what a search that the model called came to.
func (s *state) onSearched(c *toolCall, out findings) {
	l := c.searching
	l.running, l.came, l.out = false, s.now, out
	switch {
	case errors.Is(out.err, retrieval.ErrNoBase):
		s.resolve(c, ToolOutput{Output: retrieval.ToolResult(nil)})
	case out.err != nil:
		s.skipSearch(c)
	default:
		passages := s.recordSources(l.debt, l.lookup, DocsSources{CallID: c.made.ID, WaitedMS: ms(s.waitedFor(l.lookup))})
		s.resolve(c, checked(ToolOutput{Output: retrieval.ToolResult(passages)}))
	}
}

// waitedFor is what an errand waited for a search that is just back: nothing while the
// words that were said with the call were still being heard.
func (s *state) waitedFor(l *lookup) time.Duration {
	if s.reply != nil {
		return 0
	}
	return l.came - max(l.began, s.errand.silent)
}

// skipSearch tells of a search that did not answer: the log why, the model that it cannot
// know what the documents say.
func (s *state) skipSearch(c *toolCall) {
	l := c.searching
	words := "the documents could not be searched: what they say about it is not known"
	reason := l.out.err.Error()
	if errors.Is(l.out.err, retrieval.ErrBudgetSpent) || errors.Is(l.out.err, context.DeadlineExceeded) {
		words = "the documents were not searched in time: what they say about it is not known"
		reason = fmt.Sprintf("search was cancelled %v after the model called it: %v", (l.came - l.began).Round(time.Millisecond), l.out.err)
	}
	s.record(Failure{SpeechID: c.speech, Code: CodeSearchSkipped, Message: reason, Recoverable: true})
	s.resolve(c, ToolOutput{Error: words})
}

// expireSearch cancels a search at the end of its budget, and gives up on a searcher that
// does not return even then.
func (s *state) expireSearch(c *toolCall) {
	if !c.searching.spent {
		c.searching.spent = true
		s.do(drop{c.searching.id, retrieval.ErrBudgetSpent})
		return
	}
	s.onSearched(c, findings{err: fmt.Errorf("%s did not return when it was cancelled: %w", search, retrieval.ErrBudgetSpent)})
}
