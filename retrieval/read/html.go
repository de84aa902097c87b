package read

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Bounds of a page. Readability looks at each element several times, so a page
// of more is refused; the longest pages of encyclopaedias have a fifth of it.
const (
	maxElements = 50_000
	maxSpan     = 20 // columns or rows of one cell
)

// readHTML makes Markdown of what a page is for: its headings, prose, lists and
// tables, without what stands around them. Links keep their words alone, for a
// voice cannot be clicked.
func readHTML(ctx context.Context, data []byte) (string, error) {
	text, err := charset.NewReader(bytes.NewReader(data), "")
	if err != nil {
		return "", BrokenError{"HTML page", err}
	}
	unpacked, err := io.ReadAll(io.LimitReader(text, MaxUnpacked))
	if err != nil {
		return "", BrokenError{"HTML page", err}
	}
	if bytes.Count(unpacked, []byte("<")) > 4*maxElements { // before it is built
		return "", ErrTooLarge
	}
	doc, err := html.Parse(bytes.NewReader(unpacked))
	if err != nil {
		return "", BrokenError{"HTML page", err}
	}
	if strip(doc) > maxElements {
		return "", ErrTooLarge
	}
	return pageMarkdown(ctx, doc)
}

func pageMarkdown(ctx context.Context, doc *html.Node) (string, error) {
	content, title := readable(doc)
	md, err := newConverter().ConvertNode(content, converter.WithContext(ctx))
	if err != nil {
		return "", BrokenError{"HTML page", err}
	}
	text := strings.TrimSpace(string(md))
	if title != "" && !strings.HasPrefix(text, "# ") && !strings.Contains(text, "\n# ") {
		text = "# " + title + "\n\n" + text
	}
	return text, nil
}

func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		tables.NewTablePlugin(
			tables.WithHeaderPromotion(true),
			tables.WithNewlineBehavior(tables.NewlineBehaviorPreserve),
			tables.WithCellPaddingBehavior(tables.CellPaddingBehaviorMinimal),
		),
	))
}

// readable is the part of a page to read, and its title. Readability is made for
// articles: where it would keep less than half of the words of the page, as with
// a list of short questions, the body is the answer.
func readable(doc *html.Node) (content *html.Node, title string) {
	body := find(doc, atom.Body)
	if body == nil {
		body = doc
	}
	if top := find(body, atom.H1); top != nil { // readability drops one that is like the title
		title = oneLine(textOf(top))
	}
	shift(body, 1) // it makes h1 h2, which would lose the level of both
	parser := readability.NewParser()
	parser.KeepClasses, parser.DisableJSONLD = false, true
	article, err := parser.ParseDocument(doc, nil)
	if err == nil && title == "" {
		title = oneLine(article.Title())
	}
	content = body
	if err == nil && article.Node != nil && 2*len(textOf(article.Node)) >= len(textOf(body)) {
		content = article.Node
	}
	shift(content, -1)
	return content, cut(title, 4*maxHeader)
}

// dropped are the elements that hold no words of the page's own.
var dropped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Nav: true,
	atom.Footer: true, atom.Aside: true, atom.Iframe: true, atom.Object: true, atom.Embed: true,
	atom.Svg: true, atom.Math: true, atom.Canvas: true, atom.Img: true, atom.Picture: true,
	atom.Video: true, atom.Audio: true, atom.Button: true, atom.Select: true, atom.Input: true,
	atom.Textarea: true, atom.Dialog: true,
}

// strip removes what is dropped or hidden, makes links their words, and counts
// the elements that are left. Its depth is bounded by the parser's.
func strip(n *html.Node) int {
	elements := 0
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode, child.Type == html.ElementNode && isDropped(child):
			n.RemoveChild(child)
		default:
			if child.DataAtom == atom.A {
				child.Data, child.DataAtom, child.Attr = "span", atom.Span, nil
			}
			boundSpans(child)
			if child.Type == html.ElementNode {
				elements++
			}
			elements += strip(child)
		}
		child = next
	}
	return elements
}

func isDropped(n *html.Node) bool {
	if dropped[n.DataAtom] {
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			return a.Val == "true"
		case "role":
			return a.Val == "navigation" || a.Val == "contentinfo" || a.Val == "search"
		}
	}
	return false
}

// boundSpans keeps a cell from growing a table by itself.
func boundSpans(n *html.Node) {
	for i, a := range n.Attr {
		if a.Key != "colspan" && a.Key != "rowspan" {
			continue
		}
		if span, err := strconv.Atoi(a.Val); err != nil || span > maxSpan {
			n.Attr[i].Val = "1"
		}
	}
}

var headings = []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}

// shift moves every heading by some levels, within the six.
func shift(n *html.Node, by int) {
	for i, h := range headings {
		if n.DataAtom == h {
			n.DataAtom = headings[min(max(i+by, 0), len(headings)-1)]
			n.Data = n.DataAtom.String()
			break
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		shift(child, by)
	}
}

func find(n *html.Node, what atom.Atom) *html.Node {
	if n.DataAtom == what {
		return n
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if found := find(child, what); found != nil {
			return found
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(strings.TrimSpace(d.Data))
			b.WriteByte(' ')
		}
	}
	return b.String()
}
