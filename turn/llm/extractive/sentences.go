package extractive

import (
	"encoding/json"
	"regexp"
	"strings"

	"headstart/turn/llm"
	"headstart/turn/tts"
)

// found is what the tools of the platform return: passages or facts.
type found struct {
	Chunks []struct {
		Text string `json:"text"`
	} `json:"chunks"`
	Facts []struct {
		Text string `json:"text"`
	} `json:"facts"`
}

// candidates reads the tool results of a request, in order: their sentences,
// and the rows of their tables in a form that can be said. A result of another
// shape, of a tool of the app's own, holds none.
func candidates(messages []llm.Message) (sentences, rows []string) {
	for _, m := range messages {
		var f found
		if m.Role != llm.ToolRole || json.Unmarshal([]byte(m.Content), &f) != nil {
			continue
		}
		for _, chunk := range f.Chunks {
			s, r := split(chunk.Text)
			sentences, rows = append(sentences, s...), append(rows, r...)
		}
		for _, fact := range f.Facts {
			s, _ := split(fact.Text)
			sentences = append(sentences, s...)
		}
	}
	return sentences, rows
}

// item tells a line that begins a block of its own.
var item = regexp.MustCompile(`^\s*(?:[-*+•]\s|\d+[.)]\s|#{1,6}\s|>|\|)`)

// split cuts a passage into its sentences and table rows. Lines of one
// paragraph are joined first: where a text was wrapped, no sentence ends.
func split(text string) (sentences, rows []string) {
	var paragraph []string
	var table [][]string
	flush := func() {
		sentences = append(sentences, sentencesOf(strings.Join(paragraph, " "))...)
		rows = append(rows, spokenRows(table)...)
		paragraph, table = nil, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		isRow := strings.HasPrefix(line, "|")
		switch {
		case isRow:
			if len(paragraph) > 0 {
				flush()
			}
			table = append(table, cells(line))
			continue
		case line == "" || item.MatchString(line) || len(table) > 0:
			flush()
		}
		if line != "" && !strings.HasPrefix(line, "#") { // a heading names, it does not tell
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return sentences, rows
}

// anyLength keeps a sentence whole, however long it is.
const anyLength = 1 << 30

// sentencesOf cuts where the voice would, with the marks of Markdown gone. What
// only leads in to a list or a table is left out.
func sentencesOf(paragraph string) []string {
	c := tts.NewClauses(tts.Options{Longest: anyLength})
	var out []string
	for _, clause := range append(c.Write(paragraph), c.Flush()...) {
		if clause.Spoken != "" && !strings.HasSuffix(clause.Spoken, ":") {
			out = append(out, clause.Spoken)
		}
	}
	return out
}

func cells(row string) []string {
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(row, "|"), "|") {
		out = append(out, strings.TrimSpace(cell))
	}
	return out
}

// spokenRows says each row of a table as "header: cell, header: cell.". Without
// a line of dashes under the first row it is no table.
func spokenRows(table [][]string) []string {
	if len(table) < 3 || strings.Trim(strings.Join(table[1], ""), ":- ") != "" {
		return nil
	}
	var out []string
	for _, row := range table[2:] {
		var said []string
		for i, cell := range row {
			if cell = tts.Speakable(cell); cell == "" {
				continue
			}
			if i < len(table[0]) && table[0][i] != "" {
				cell = tts.Speakable(table[0][i]) + ": " + cell
			}
			said = append(said, cell)
		}
		if len(said) > 0 {
			out = append(out, strings.Join(said, ", ")+".")
		}
	}
	return out
}
