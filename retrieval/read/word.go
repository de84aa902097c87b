package read

import (
	"encoding/xml"
	"strings"
)

// maxBased is how many styles are followed from one to the one it is based on.
const maxBased = 16

// word turns the events of word/document.xml into Markdown.
type word struct {
	styles map[string]style
	out    strings.Builder

	paragraph strings.Builder
	level     int  // of heading
	listing   bool // an item of a list
	indent    int  // its level, from 0

	inText  int // inside w:t
	skipped int // inside something that is left out
	tables  int // tables inside each other
	cells   []string
	cell    strings.Builder
	rows    int // of the outer table so far
}

// leftOut are the elements whose text is not the document's: what was deleted or
// moved away, what repeats a shape for older programs, and the code of a field.
var leftOut = map[string]bool{"del": true, "moveFrom": true, "Fallback": true, "instrText": true, "pPrChange": true}

func (w *word) open(e xml.StartElement) error {
	if w.skipped > 0 || leftOut[e.Name.Local] {
		w.skipped++
		return nil
	}
	switch e.Name.Local {
	case "p":
		w.flush() // a paragraph in a shape inside a paragraph
	case "pStyle":
		w.style(attr(e, "val"))
	case "outlineLvl":
		w.level = digit(attr(e, "val")) + 1
	case "numPr":
		w.listing = true
	case "ilvl":
		w.indent = digit(attr(e, "val"))
	case "t":
		w.inText++
	case "br", "cr":
		w.paragraph.WriteByte('\n')
	case "tab":
		w.paragraph.WriteByte(' ')
	case "noBreakHyphen":
		w.paragraph.WriteByte('-')
	case "tbl":
		w.flush()
		w.tables++
	}
	return nil
}

func (w *word) style(id string) {
	for range maxBased {
		s, ok := w.styles[id]
		if !ok {
			return
		}
		w.listing = w.listing || s.listing
		if s.level > 0 {
			w.level = s.level
			return
		}
		id = s.based
	}
}

func (w *word) text(t []byte) error {
	if w.inText > 0 && w.skipped == 0 {
		w.paragraph.Write(t)
	}
	return w.bounded()
}

func (w *word) bounded() error {
	if w.out.Len()+w.paragraph.Len()+w.cell.Len() > MaxText {
		return ErrTooLarge
	}
	return nil
}

func (w *word) close(name string) error {
	if w.skipped > 0 {
		w.skipped--
		return nil
	}
	switch name {
	case "t":
		w.inText--
	case "p":
		w.flush()
	case "tc":
		if w.tables == 1 {
			w.cells = append(w.cells, strings.ReplaceAll(oneLine(w.cell.String()), "|", `\|`))
			w.cell.Reset()
		}
	case "tr":
		if w.tables == 1 {
			w.row()
		}
	case "tbl":
		if w.tables--; w.tables == 0 {
			w.out.WriteByte('\n')
			w.rows = 0
		}
	}
	return w.bounded()
}

// flush ends a paragraph. In a table it is words of the cell.
func (w *word) flush() {
	text := strings.TrimSpace(w.paragraph.String())
	level, listing, indent := w.level, w.listing, w.indent
	w.paragraph.Reset()
	w.level, w.listing, w.indent = 0, false, 0
	switch {
	case text == "":
	case w.tables > 0:
		w.cell.WriteString(" " + text)
	case level >= 1 && level <= 6:
		w.out.WriteString("\n" + strings.Repeat("#", level) + " " + oneLine(text) + "\n\n")
	case listing:
		w.out.WriteString(strings.Repeat("  ", indent) + "- " + oneLine(text) + "\n")
	default:
		w.out.WriteString("\n" + prose(text) + "\n\n")
	}
}

// row writes a row. Short ones are not filled up: one wide row would make every
// other as wide.
func (w *word) row() {
	cells := w.cells
	w.cells = nil
	if len(cells) == 0 {
		return
	}
	if w.rows == 0 {
		w.out.WriteByte('\n')
	}
	w.out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	if w.rows++; w.rows == 1 {
		w.out.WriteString(strings.Repeat("| --- ", len(cells)) + "|\n")
	}
}
