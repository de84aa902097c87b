package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/turntest"
)

const (
	saturdays = `{"query":"horario sábados"}`
	chunks    = `{"chunks":[{"path":"horarios.md","heading":"Horarios","text":"Abrimos a las nueve."}]}`
	noChunks  = `{"chunks":[]}`
)

// searchBench is a call of one question, committed at 2.8 s, to an agent without an app
// whose model searches by itself.
func searchBench(t *testing.T, caller *turntest.Caller, searcher *turntest.Searcher, answers ...turntest.Answer) (*bench, *turntest.Model) {
	model := turntest.Answers(t, answers...)
	b := newBench(t, caller, model)
	b.cfg.Bases, b.cfg.ToolBases = nil, []retrieval.Attachment{{Base: "clinica", K: 4}, {Base: "tarifas"}}
	b.ports.Searcher = searcher
	return b, model
}

// looked is what a log tells of searches, in order.
func looked(l *turntest.Log) []string {
	var list []string
	for _, e := range l.Entries() {
		switch ev := e.Event.(type) {
		case turn.ToolCalled:
			list = append(list, "call")
		case turn.DocsSources:
			list = append(list, fmt.Sprintf("%d sources, waited %v ms", len(ev.Sources), ev.WaitedMS))
		case turn.Failure:
			list = append(list, ev.Code+": "+ev.Message)
		case turn.ToolResulted:
			if ev.Error != "" {
				list = append(list, "error: "+ev.Error)
				continue
			}
			list = append(list, fmt.Sprintf("result: %s", ev.Output))
		}
	}
	return list
}

// Each search that the model calls has a result, whatever becomes of it, and the log tells
// what the agent knew.
func TestTheModelSearches(t *testing.T) {
	t.Parallel()
	const late, failed = "error: the documents were not searched in time: what they say about it is not known", "error: the documents could not be searched: what they say about it is not known"
	degraded := onePassage
	degraded.Degraded, degraded.Branches = errors.New("embedder is late"), []retrieval.Branch{retrieval.Words}
	for _, tt := range []struct {
		name      string
		arguments string
		searcher  *turntest.Searcher
		looked    []string // after the call
		searches  int
	}{
		{"found", saturdays, &turntest.Searcher{Result: onePassage, Took: 80 * time.Millisecond}, []string{"1 sources, waited 80 ms", "result: " + chunks}, 1},
		{"just in time", saturdays, &turntest.Searcher{Result: onePassage, Took: 250 * time.Millisecond}, []string{"1 sources, waited 250 ms", "result: " + chunks}, 1},
		{"nothing found", saturdays, &turntest.Searcher{}, []string{"0 sources, waited 0 ms", "result: " + noChunks}, 1},
		{"the embedder is late", saturdays, &turntest.Searcher{Took: time.Second, Words: &degraded}, []string{"1 sources, waited 250 ms", "search_degraded: embedder is late", "result: " + chunks}, 1},
		{"all of it is late", saturdays, &turntest.Searcher{Took: time.Second}, []string{"search_skipped: search was cancelled 250ms after the model called it: lookup budget spent", late}, 1},
		{"it is deaf", saturdays, &turntest.Searcher{Took: time.Second, Deaf: time.Second}, []string{"search_skipped: search was cancelled 260ms after the model called it: search did not return when it was cancelled: lookup budget spent", late}, 1},
		{"it fails", saturdays, &turntest.Searcher{Err: errors.New("http://key@store: refused")}, []string{"search_skipped: http://key@store: refused", failed}, 1},
		{"a base is not ready", saturdays, &turntest.Searcher{Err: retrieval.ErrNotReady{Base: "tarifas"}}, []string{"search_skipped: base tarifas is not ready", failed}, 1},
		{"a quota of none", saturdays, &turntest.Searcher{Err: retrieval.ErrNoBase}, []string{"result: " + noChunks}, 1},
		{"no letter", `{"query":"12, 5"}`, &turntest.Searcher{}, []string{"result: " + noChunks}, 0},
		{"no query", `{}`, &turntest.Searcher{}, []string{"error: the arguments do not fit the tool: the arguments: missing query"}, 0},
		{"another org", `{"query":"horario sábados","org":"other"}`, &turntest.Searcher{}, []string{"error: the arguments do not fit the tool: the arguments: knows no org"}, 0},
		{"another base", `{"query":"horario sábados","bases":["secret"]}`, &turntest.Searcher{}, []string{"error: the arguments do not fit the tool: the arguments: knows no bases"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, model := searchBench(t, turntest.Speaks(same()), tt.searcher, asks("search", tt.arguments), turntest.Answer{Text: "A las nueve."})
				b.run(t, 9*time.Second)
				if diff := cmp.Diff(append([]string{"call"}, tt.looked...), looked(b.log)); diff != "" {
					t.Fatalf("told (-want +got):\n%s\n%s", diff, b.log)
				}
				asked := tt.searcher.Asked()
				if len(asked) != tt.searches {
					t.Fatalf("searched %+v", asked)
				}
				for _, q := range asked {
					if diff := cmp.Diff(retrieval.Query{Org: "default", Text: "horario sábados", Bases: b.cfg.ToolBases}, q); diff != "" {
						t.Fatalf("searched (-want +got):\n%s", diff)
					}
				}
				for _, cause := range tt.searcher.Cancelled() {
					if !errors.Is(cause, retrieval.ErrBudgetSpent) {
						t.Fatalf("cancelled by %v", cause)
					}
				}
				result := turntest.One[turn.ToolResulted](t, b.log)
				content := fmt.Sprintf("%s", result.Output)
				if result.Error != "" {
					content = `{"error":"` + result.Error + `"}`
				}
				want := []string{"user: " + same().Final, "assistant:  -> c1 search" + tt.arguments, "tool: " + content}
				if diff := cmp.Diff(want, said(model.Requests()[1])); diff != "" {
					t.Fatalf("the second request (-want +got):\n%s", diff)
				}
				if answer := turntest.One[turn.TurnAgent](t, b.log); answer.Text != "A las nueve." || answer.Kind != turn.KindReply {
					t.Fatalf("the agent said %+v", answer)
				}
			})
		})
	}
}

func TestWhatTheLogKnowsOfASearchThatTheModelCalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, model := searchBench(t, turntest.Speaks(same()), &turntest.Searcher{Result: onePassage, Took: 80 * time.Millisecond}, asks("search", saturdays), turntest.Answer{Text: "A las nueve."})
		b.run(t, 9*time.Second)
		docs := turntest.One[turn.DocsSources](t, b.log)
		docs.Sources = nil
		want := turn.DocsSources{
			SpeechID: turntest.One[turn.TurnUser](t, b.log).SpeechID, CallID: "c1", Query: "horario sábados",
			Evidence: "strong", Cosine: 0.7, Branches: []string{"words", "vectors"}, TookMS: 80, WaitedMS: 80, StartedMS: 300,
		}
		if diff := cmp.Diff(want, docs); diff != "" {
			t.Fatalf("docs.sources (-want +got):\n%s", diff)
		}
		m := turntest.One[turn.MetricsTurn](t, b.log)
		if m.LookupWaitMS != 0 || m.ToolsMS != 80 || m.Preemptive != "kept" {
			t.Fatalf("metrics %+v", m)
		}
		offered := model.Requests()[0].Tools
		if len(offered) != 1 || offered[0].Name != "search" || !strings.Contains(offered[0].Description, "clinica, tarifas") || !json.Valid(offered[0].Parameters) {
			t.Fatalf("offered %+v", offered)
		}
	})
}

// While words that the model said with its call are heard, nobody waits for the search.
func TestASearchBehindWordsCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := asks("search", saturdays)
		first.Text = "Un momento, que lo miro."
		b, _ := searchBench(t, turntest.Speaks(same()), &turntest.Searcher{Result: onePassage, Took: 80 * time.Millisecond}, first, turntest.Answer{Text: "A las nueve."})
		b.run(t, 9*time.Second)
		if docs := turntest.One[turn.DocsSources](t, b.log); docs.TookMS != 80 || docs.WaitedMS != 0 {
			t.Fatalf("took %v, waited %v ms", docs.TookMS, docs.WaitedMS)
		}
		want := []string{"call search", "result search after 0.08s", "announce: Un momento, que lo miro.", "reply: A las nueve."}
		if diff := cmp.Diff(want, told(b.log)); diff != "" {
			t.Fatalf("told (-want +got):\n%s", diff)
		}
	})
}

// An agent may have some bases searched before each turn, and its model search others:
// both reach the model in one shape, of which the history keeps what was called.
func TestBothWaysToSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		searcher := &turntest.Searcher{Result: onePassage}
		b, model := searchBench(t, after("¿Cuánto cuesta entonces?"), searcher, asks("search", saturdays), turntest.Answer{Text: "A las nueve."}, asks("search", `{"query":"precio"}`), turntest.Answer{Text: "Nada."})
		b.cfg.Bases = []retrieval.Attachment{{Base: "faq"}}
		b.cfg.LateLookups = true
		b.run(t, 15*time.Second)
		question, more := same().Final, "¿Cuánto cuesta entonces?"
		want := []retrieval.Query{
			{Org: "default", Text: question, Bases: b.cfg.Bases},
			{Org: "default", Text: "horario sábados", Bases: b.cfg.ToolBases},
			{Org: "default", Text: more, Bases: b.cfg.Bases, Before: []string{question}},
			{Org: "default", Text: "precio", Bases: b.cfg.ToolBases, Before: []string{question}},
		}
		if diff := cmp.Diff(want, searcher.Asked()); diff != "" {
			t.Fatalf("searched (-want +got):\n%s", diff)
		}
		requests := model.Requests()
		if d := requests[0].Tools[0].Description; !strings.Contains(d, "the business: clinica, tarifas.") || !strings.Contains(d, "other documents: faq.") {
			t.Fatalf("described as %q", d)
		}
		read := []string{
			"user: " + question, "assistant:  -> c1 search" + saturdays, "tool: " + chunks, "assistant: A las nueve.",
			"user: " + more, `assistant:  -> speech-2-search search{"query":"` + more + `"}`, "tool: " + chunks,
			`assistant:  -> c1-2 search{"query":"precio"}`, "tool: " + chunks,
		}
		if diff := cmp.Diff(read, said(requests[3])); diff != "" {
			t.Fatalf("the last request (-want +got):\n%s", diff)
		}
	})
}

// The caller who speaks on, or hangs up, cancels the search; the call keeps its result.
func TestASearchIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		length float64
		wants  string
		cause  error
	}{
		{"the caller writes on", 9, "not finished: the caller spoke again", turn.ErrSuperseded},
		{"the caller hangs up", 2.9, "the call ended before the tool answered", turn.End{Reason: "caller_hung_up", By: "caller"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := []turntest.Answer{asks("search", saturdays)}
				if tt.length > 3 {
					answers = append(answers, turntest.Answer{Text: "Sí."})
				}
				searcher := &turntest.Searcher{Took: time.Second}
				b, _ := searchBench(t, turntest.Speaks(same()), searcher, answers...)
				go func() {
					if time.Sleep(2900 * time.Millisecond); tt.length > 3 {
						b.messages <- turn.Typed{Text: "y aparcamiento"}
					}
				}()
				b.run(t, seconds(tt.length))
				if result := turntest.One[turn.ToolResulted](t, b.log); result.Error != tt.wants {
					t.Fatalf("result %+v\n%s", result, b.log)
				}
				if causes := searcher.Cancelled(); len(causes) != 1 || !errors.Is(causes[0], tt.cause) {
					t.Fatalf("cancelled by %v", causes)
				}
				if failures := turntest.All[turn.Failure](b.log); len(failures) > 0 {
					t.Fatalf("failures %+v", failures)
				}
			})
		})
	}
}

// In writing a search has the time that lookups have there, and asks as they do.
func TestASearchInWriting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		searcher := &turntest.Searcher{Took: 2 * time.Second, Result: onePassage}
		b, _ := searchBench(t, turntest.Speaks(), searcher, asks("search", saturdays), turntest.Answer{Text: "A las nueve."})
		b.cfg.Written = true
		b.messages <- turn.Typed{Text: "¿horario sábados?"}
		b.run(t, 8*time.Second)
		if docs := turntest.One[turn.DocsSources](t, b.log); docs.WaitedMS != 2000 || !searcher.Asked()[0].Written {
			t.Fatalf("%+v, asked %+v", docs, searcher.Asked())
		}
	})
}

// Search stands beside the other tools: what the app shows of its own, and the end of the
// call, are as ever; without a searcher there is none.
func TestSearchBesideOtherTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		change  func(*bench)
		offered []string
	}{
		{"all", func(*bench) {}, []string{"find_slots", "search", "end_call"}},
		{"the app shows none", func(b *bench) { b.messages <- turn.Offered{} }, []string{"search", "end_call"}},
		{"no searcher", func(b *bench) { b.ports.Searcher = nil }, []string{"find_slots", "end_call"}},
		{"no base", func(b *bench) { b.cfg.ToolBases = nil }, []string{"find_slots", "end_call"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, model := searchBench(t, turntest.Speaks(same()), &turntest.Searcher{Result: onePassage}, asks("search", saturdays), turntest.Answer{Text: "Sí."})
				b.cfg.Tools, b.ports.Toolbox, b.cfg.Hangup = []turn.Tool{finding()}, turntest.Works(t, nil), &turn.Hangup{}
				tt.change(b)
				b.run(t, 9*time.Second)
				if diff := cmp.Diff(tt.offered, names(model.Requests()[0].Tools)); diff != "" {
					t.Fatalf("offered (-want +got):\n%s", diff)
				}
				result := turntest.One[turn.ToolResulted](t, b.log)
				if searched := slices.Contains(tt.offered, "search"); searched != (result.Error == "") || !searched && result.Error != "no tool is named search" {
					t.Fatalf("result %+v", result)
				}
			})
		})
	}
}

// What a search puts into the history for good is no more than a turn is given.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var long retrieval.Result
		for i := range 8 {
			long.Passages = append(long.Passages, retrieval.Passage{ID: fmt.Sprint(i), Path: "a.md", Text: strings.Repeat("palabra & ", 400)})
		}
		b, model := searchBench(t, turntest.Speaks(same()), &turntest.Searcher{Result: long}, asks("search", saturdays), turntest.Answer{Text: "Sí."})
		b.run(t, 9*time.Second)
		kept := retrieval.Limit(long.Passages, retrieval.SpokenTokens)
		messages := model.Requests()[1].Messages
		want := llm.Message{Role: llm.ToolRole, ToolCallID: "c1", Content: string(retrieval.ToolResult(kept))}
		if diff := cmp.Diff(want, messages[len(messages)-1]); diff != "" || len(kept) == len(long.Passages) {
			t.Fatalf("%d passages; the result (-want +got):\n%s", len(kept), diff)
		}
		if docs := turntest.One[turn.DocsSources](t, b.log); len(docs.Sources) != len(kept) {
			t.Fatalf("the log knows %d sources, the model %d", len(docs.Sources), len(kept))
		}
	})
}
