package chunk

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// longestLabel is the longest heading inside a section, in words, that is kept
// with what it heads; a longer one is prose.
const longestLabel = 40

// unit is what a piece is packed from, and is not cut again.
type unit struct {
	text  string
	glue  string // between it and the unit before it
	words int
	fresh bool // starts a piece: the first sentence of a paragraph that is cut
	label int  // the level of a heading: never the last of a piece; 0 is no heading
	// repeats counts the bytes at its start that are a table's header once more.
	repeats int
}

func newUnit(text, glue string) unit { return unit{text: text, glue: glue, words: words(text)} }

// deepestNest is how many lists and quotes inside each other are looked into for
// a place to cut. Deeper ones are cut as prose: each level reads its text again.
const deepestNest = 12

// units cuts a block into units under room where it may be cut at all. nest is
// how deep it stands in lists and quotes.
func (c cutter) units(b block, room float64, nest int) []unit {
	whole := newUnit(c.trimmed(b.span), c.glue(b.from))
	if b.node != nil && isBreak(b.node.PreviousSibling()) {
		whole.glue = "\n\n"
	}
	if h, ok := b.node.(*ast.Heading); ok {
		return c.label(h, b, whole)
	}
	if isBreak(b.node) {
		return c.plain(span{min(c.lineEnd(b.from), b.to), b.to}, room)
	}
	if whole.words == 0 {
		return nil
	}
	if tokens(whole.words) < room {
		return []unit{whole}
	}
	switch b.node.(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return []unit{whole}
	case *extast.Table:
		return c.rows(whole, room)
	case *ast.List, *ast.ListItem, *ast.Blockquote:
		if nest == deepestNest {
			break
		}
		var units []unit
		for _, child := range c.blocks(b.node, b.span) {
			units = append(units, c.units(child, room, nest+1)...)
		}
		return units
	}
	return sentences(whole, room)
}

// label makes the unit of a heading that starts no section.
func (c cutter) label(h *ast.Heading, b block, whole unit) []unit {
	own, rest := c.headingLines(h, b.span)
	label := newUnit(c.trimmed(span{b.from, own.to}), whole.glue)
	units := []unit{label}
	if label.words > longestLabel {
		units = sentences(label, MaxTokens)
	} else {
		units[0].label = h.Level
	}
	return append(units, c.plain(rest, MaxTokens)...)
}

// plain cuts lines that are of no block.
func (c cutter) plain(lines span, room float64) []unit {
	whole := newUnit(c.trimmed(lines), c.glue(lines.from))
	if whole.words == 0 {
		return nil
	}
	return sentences(whole, room)
}

// trimmed is the text of a span without blank lines around it. The indent of its
// first line stays: in a list it is the list's.
func (c cutter) trimmed(s span) string {
	text := strings.TrimRight(string(c.src[s.from:s.to]), " \t\n")
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// isBreak holds for a rule: it says nothing, and parts what is around it.
func isBreak(n ast.Node) bool {
	_, ok := n.(*ast.ThematicBreak)
	return ok
}

// glue is one line end, or two when a blank line parts the lines from those above.
func (c cutter) glue(from int) string {
	above := strings.TrimRight(string(c.src[c.lineStart(max(from-1, 0)):from]), " \t\n")
	if from > 0 && above != "" {
		return "\n"
	}
	return "\n\n"
}

// rows cuts a table between its rows; each part repeats the header.
func (c cutter) rows(table unit, room float64) []unit {
	lines := strings.Split(table.text, "\n")
	if len(lines) < 3 {
		return []unit{table}
	}
	header := lines[0] + "\n" + lines[1]
	var units []unit
	part, rows := newUnit(header, table.glue), 0
	for i, row := range lines[2:] {
		if strings.TrimSpace(row) == "" { // the table has ended: what follows is of no block
			rest := newUnit(strings.Join(lines[2+i:], "\n"), "\n\n")
			return append(append(units, part), sentences(rest, room)...)
		}
		n := words(row)
		if rows > 0 && tokens(part.words+n) >= room {
			units = append(units, part)
			part, rows = newUnit(header, "\n\n"), 0
			part.repeats = len(header) + 1
		}
		part.text += "\n" + row
		part.words += n
		rows++
	}
	return append(units, part)
}
