package read

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Bounds of a DOCX.
const (
	maxParts = 10_000 // files in the archive
	maxDepth = 256    // elements inside each other
)

// errZipBomb tells the reader of a part that it unpacks to too much.
var errZipBomb = fmt.Errorf("unpack part: %w", ErrTooLarge)

// readDOCX makes Markdown of the body of a Word document: headings by the outline
// level of their style, whatever its name, lists and tables. Headers, footers,
// notes, comments and deleted text are left out.
func readDOCX(data []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", BrokenError{"DOCX", err}
	}
	if len(archive.File) > maxParts {
		return "", ErrTooLarge
	}
	styles, err := readStyles(archive)
	if err != nil {
		return "", brokenDOCX(err)
	}
	part, err := openPart(archive, "word/document.xml")
	if errors.Is(err, fs.ErrNotExist) {
		return "", KindError{Is: "an archive that is no Word document"}
	}
	if err != nil {
		return "", brokenDOCX(err)
	}
	defer part.Close() // opened to read: closing it loses nothing
	w := word{styles: styles}
	if err := walk(part, w.open, w.close, w.text); err != nil {
		return "", brokenDOCX(err)
	}
	return w.out.String(), nil
}

func brokenDOCX(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return ErrTooLarge
	case errors.Is(err, ErrLocked):
		return ErrLocked
	}
	return BrokenError{"DOCX", err}
}

// part is a file of the archive, read up to MaxUnpacked whatever it claims.
type part struct {
	io.Reader
	io.Closer
}

func openPart(archive *zip.Reader, name string) (part, error) {
	for _, f := range archive.File {
		if f.Name != name {
			continue
		}
		if f.Flags&1 != 0 {
			return part{}, ErrLocked
		}
		rc, err := f.Open()
		if err != nil {
			return part{}, err
		}
		return part{&bounded{rc, MaxUnpacked}, rc}, nil
	}
	return part{}, fs.ErrNotExist
}

// bounded fails where io.LimitedReader would end: a cut document must not pass
// for a whole one.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errZipBomb
	}
	return n, err
}

// walk reads XML as events; nothing of it is kept. What stands only for older
// programs is skipped: it says again what was said.
func walk(r io.Reader, open func(xml.StartElement) error, shut func(name string) error, text func([]byte) error) error {
	d := xml.NewDecoder(r)
	for depth, err := 0, error(nil); ; {
		var token xml.Token
		if token, err = d.RawToken(); errors.Is(err, io.EOF) && depth == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errors.New("elements nest too deep")
			}
			err = open(t)
		case xml.EndElement:
			depth--
			err = shut(t.Name.Local)
		case xml.CharData:
			err = text(t)
		}
		if err != nil {
			return err
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// style is what a paragraph style says here.
type style struct {
	based   string
	level   int // of heading, 1 to 9; 0 is none
	listing bool
}

// readStyles reads word/styles.xml. Ids are translated ("Ttulo1"), outline levels
// and the names of built-in styles are not.
func readStyles(archive *zip.Reader) (map[string]style, error) {
	styles := make(map[string]style)
	part, err := openPart(archive, "word/styles.xml")
	if errors.Is(err, fs.ErrNotExist) {
		return styles, nil
	}
	if err != nil {
		return nil, err
	}
	defer part.Close() // opened to read: closing it loses nothing
	id, now := "", style{}
	open := func(e xml.StartElement) error {
		switch e.Name.Local {
		case "style":
			id, now = attr(e, "styleId"), style{}
		case "name":
			if level, ok := strings.CutPrefix(strings.ToLower(attr(e, "val")), "heading "); ok {
				now.level = digit(level)
			}
		case "basedOn":
			now.based = attr(e, "val")
		case "outlineLvl":
			now.level = digit(attr(e, "val")) + 1
		case "numPr":
			now.listing = true
		}
		return nil
	}
	shut := func(name string) error {
		if name == "style" && id != "" {
			styles[id] = now
		}
		return nil
	}
	return styles, walk(part, open, shut, func([]byte) error { return nil })
}

// digit reads one digit; anything else is 0.
func digit(s string) int {
	if len(s) != 1 || s[0] < '0' || s[0] > '9' {
		return 0
	}
	return int(s[0] - '0')
}
