package retrieval

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"headstart/retrieval/chunk"
)

const (
	// neighbours is how many chunks either side of a hit are read with it.
	neighbours = 2
	// wholePages is how many of the best pages give all their sections; every page
	// after them gives its best.
	wholePages = 2
)

// page is one file of one base.
type page struct {
	segment int32
	path    string
}

// section is a run of chunks of one segment, and the hits in it.
type section struct {
	segment  int32
	from, to int32 // docs, to included
	hits     []candidate
}

// handing hands out what was found as sections. Hits are offered best first; one
// search writes and reads it.
type handing struct {
	segments []*Segment
	most     int
	hits     hits
	sections []*section
	of       map[string]*section // the section that holds a chunk, by the chunk's id
	pages    map[page]int        // by the order in which they first gave a section
}

func newHanding(segments []*Segment, most int) *handing {
	return &handing{
		segments: segments, most: most, hits: hits{segments: segments},
		of: make(map[string]*section), pages: make(map[page]int),
	}
}

// offer adds a hit to the section that holds it already, or makes one of it. A hit
// that says what one before it says is dropped: only what is handed out hides.
func (h *handing) offer(c candidate) {
	if s := h.of[c.id]; s != nil {
		if h.hits.take(c) {
			s.hits = append(s.hits, c)
		}
		return
	}
	at := page{c.segment, h.segments[c.segment].chunks[c.doc].Path}
	nth, known := h.pages[at]
	if len(h.sections) == h.most || known && nth >= wholePages || !h.hits.take(c) {
		return
	}
	if !known {
		h.pages[at] = len(h.pages)
	}
	h.open(c)
}

// open makes the section of a hit: what stands around it under its heading and is
// in no other, as long as all of it fits in one spoken turn.
func (h *handing) open(c candidate) {
	seg := h.segments[c.segment]
	s := &section{segment: c.segment, from: c.doc, to: c.doc, hits: []candidate{c}}
	room := SpokenTokens - chunk.Tokens(seg.chunks[c.doc].Heading) - seg.sizes[c.doc]
	up, down := true, true
	for range neighbours {
		if up = up && h.fits(seg, c.doc, s.from-1, &room); up {
			s.from--
		}
		if down = down && h.fits(seg, c.doc, s.to+1, &room); down {
			s.to++
		}
	}
	for doc := s.from; doc <= s.to; doc++ {
		h.of[seg.chunks[doc].ID] = s
	}
	h.sections = append(h.sections, s)
}

// fits takes the room that a neighbour needs.
func (h *handing) fits(seg *Segment, hit, doc int32, room *float64) bool {
	if doc < 0 || int(doc) >= len(seg.chunks) {
		return false
	}
	a, b := &seg.chunks[hit], &seg.chunks[doc]
	if seg.partial && a.Seq-b.Seq != int(hit-doc) {
		return false // what stands between was not given
	}
	if a.Path != b.Path || a.Heading != b.Heading || a.Section != b.Section || h.of[b.ID] != nil {
		return false
	}
	size := seg.sizes[doc]
	if size > *room {
		return false
	}
	*room -= size
	return true
}

// passages writes the sections out, with what was asked made of each hit.
func (h *handing) passages(all []*asked, ranks bool) []Passage {
	var found []candidate
	for _, s := range h.sections {
		found = append(found, s.hits...)
	}
	hits := hitsOf(all, found, ranks)
	var list []Passage
	for _, s := range h.sections {
		p := s.passage(h.segments[s.segment])
		p.Hits, hits = hits[:len(s.hits):len(s.hits)], hits[len(s.hits):]
		list = append(list, p)
	}
	return list
}

// hitsOf tells of chunks what the question, and the question with the turns before
// it, made of each.
func hitsOf(all []*asked, found []candidate, ranks bool) []Hit {
	plain, together := all[0].marks(found, ranks), make([]Marks, len(found))
	if len(all) > 1 {
		together = all[1].marks(found, ranks)
	}
	hits := make([]Hit, len(found))
	for i, c := range found {
		hits[i] = Hit{ID: c.id, Score: c.score, Marks: plain[i], Together: together[i]}
	}
	return hits
}

func (s *section) passage(seg *Segment) Passage {
	pieces := seg.chunks[s.from : s.to+1]
	return Passage{
		ID: passageID(pieces), Base: seg.base, Path: pieces[0].Path, Heading: pieces[0].Heading,
		Text: chunk.Join(pieces), Score: s.hits[0].score,
	}
}

// passageID is of the chunks that are read, so that two passages with one id read
// the same.
func passageID(pieces []chunk.Chunk) string {
	if len(pieces) == 1 {
		return pieces[0].ID
	}
	var ids strings.Builder
	for _, c := range pieces {
		ids.WriteString(c.ID + "\n")
	}
	sum := sha256.Sum256([]byte(ids.String()))
	return hex.EncodeToString(sum[:10])
}
