package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/turntest"
)

// A tool that is not to be seen is not offered, and a call of it is not run; what the
// app names and has not declared is nothing.
func TestToolsThatAreNotToBeSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, model, toolbox := errandBench(t, turntest.Speaks(same()), nil, asks("book_slot", slot), turntest.Answer{Text: "No puedo."})
		b.messages <- turn.Offered{Tools: []string{"find_slots", "unheard_of"}}
		b.run(t, 9*time.Second)
		want := []string{"call book_slot", "result book_slot after 0s", "reply: No puedo."}
		if diff := cmp.Diff(want, told(b.log)); diff != "" || len(toolbox.Calls()) > 0 {
			t.Fatalf("told (-want +got):\n%s\nasked %v", diff, toolbox.Calls())
		}
		for _, req := range model.Requests() {
			if diff := cmp.Diff([]string{"find_slots"}, names(req.Tools)); diff != "" {
				t.Fatalf("offered (-want +got):\n%s", diff)
			}
		}
		var set []turn.ToolsSet
		for _, e := range b.log.Entries() {
			if ev, ok := e.Event.(turn.ToolsSet); ok {
				set = append(set, ev)
			}
		}
		if diff := cmp.Diff([]turn.ToolsSet{{Tools: []string{"find_slots"}}}, set); diff != "" {
			t.Fatalf("the log (-want +got):\n%s", diff)
		}
	})
}

func names(tools []llm.Tool) (list []string) {
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}
