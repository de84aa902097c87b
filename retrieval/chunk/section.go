package chunk

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// deepestCut is the deepest heading that starts a section.
const deepestCut = 3

// longestInline is the longest heading, in bytes, whose inline marks are read:
// parsers of links take time in the square of what they read.
const longestInline = 1000

// section is what stands under one heading.
type section struct {
	heading string // its path
	units   []unit
	above   labels // wait at its end for what they head
}

func (s *section) add(units []unit) {
	for _, u := range units {
		s.above = s.above.after(u)
	}
	s.units = append(s.units, units...)
}

// room is the size for the next block: less when headings wait to be joined to it.
func (s *section) room() float64 { return MaxTokens - tokens(s.above.words()) }

// The two parsers are safe for concurrent use. Only headings have their inline
// marks read, and link definitions stay paragraphs: they are text to us, and both
// take a parser time in the square of a long run of them.
var (
	markdown = parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
	)
	inline = parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewATXHeadingParser(), 100)),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)
)

// sections cuts a text at its headings. A heading inside a list or a quote
// belongs to that list or quote.
func sections(source string) []section {
	src := []byte(source)
	c := cutter{src: src}
	list := []section{{}}
	var path [deepestCut]string
	for _, b := range c.blocks(markdown.Parse(text.NewReader(src)), span{0, len(src)}) {
		last := &list[len(list)-1]
		h, ok := b.node.(*ast.Heading)
		if !ok || h.Level > deepestCut {
			last.add(c.units(b, last.room(), 0))
			continue
		}
		path[h.Level-1] = headingText(h, src)
		clear(path[h.Level:])
		_, rest := c.headingLines(h, b.span)
		list = append(list, section{heading: join(path[:]), units: c.plain(rest, MaxTokens)})
	}
	return list
}

func join(path []string) string {
	var parts []string
	for _, p := range path {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, Separator)
}

// headingText is the heading as a reader sees it, without Markdown's marks.
func headingText(h *ast.Heading, src []byte) string {
	line := strings.Join(strings.Fields(string(h.Lines().Value(src))), " ")
	if len(line) > longestInline {
		return line
	}
	line = "# " + line
	return visible(inline.Parse(text.NewReader([]byte(line))), []byte(line))
}

func visible(root ast.Node, src []byte) string {
	var b bytes.Buffer
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker gives no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(plainText(n, src))
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

func plainText(n *ast.Text, src []byte) []byte {
	value := n.Segment.Value(src)
	if _, ok := n.Parent().(*ast.CodeSpan); ok || n.IsRaw() {
		return value
	}
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
}

// span is a range of bytes of the source, whole lines.
type span struct{ from, to int }

// block is a node and the lines that are its own: from its first line to the
// first line of what follows, so that no line of a file belongs to nothing. The
// node is nil for lines above the first child of a parent.
type block struct {
	node ast.Node
	span
}

// cutter cuts one source.
type cutter struct{ src []byte }

// blocks shares the lines of a parent among its children.
func (c cutter) blocks(parent ast.Node, lines span) []block {
	var list []block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		from := c.lineStart(position(n))
		if len(list) == 0 && from > lines.from {
			list = append(list, block{nil, lines})
		}
		if len(list) > 0 {
			last := &list[len(list)-1]
			if from <= last.from { // it has no position of its own
				continue
			}
			last.to = from
		}
		list = append(list, block{n, span{max(from, lines.from), lines.to}})
	}
	return list
}

// position is where a node starts. A table says where its paragraph did, which
// may hold lines above the table; its header says better.
func position(n ast.Node) int {
	if t, ok := n.(*extast.Table); ok && t.FirstChild() != nil {
		return t.FirstChild().Pos()
	}
	return n.Pos()
}

func (c cutter) lineStart(at int) int {
	if at <= 0 || at > len(c.src) {
		return 0
	}
	return bytes.LastIndexByte(c.src[:at], '\n') + 1
}

func (c cutter) lineEnd(at int) int {
	if i := bytes.IndexByte(c.src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(c.src)
}

// headingLines parts the lines of a heading from what else is in its span.
func (c cutter) headingLines(h *ast.Heading, lines span) (own, rest span) {
	own = span{c.lineStart(h.Pos()), c.lineEnd(h.Pos())}
	if !isATX(c.src[h.Pos():own.to]) {
		last := h.Lines().At(h.Lines().Len() - 1)
		own.to = c.lineEnd(c.lineEnd(last.Start)) // the underline is the line after the text
	}
	own.to = min(own.to, lines.to)
	return own, span{own.to, lines.to}
}

// isATX holds for a line of hashes. The text of an underlined heading cannot
// begin so: it would be a heading by itself.
func isATX(line []byte) bool {
	rest := bytes.TrimLeft(line, "#")
	hashes := len(line) - len(rest)
	return hashes >= 1 && hashes <= 6 && len(bytes.TrimLeft(rest, " \t\n")) < max(len(rest), 1)
}
