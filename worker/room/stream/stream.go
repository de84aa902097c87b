// Package stream is LiveKit's text streams on the wire: it cuts text into data
// packets and puts the packets of others together again.
//
// It stands where the SDK's own writers and readers would. Theirs keep two
// goroutines alive when the room goes away first, cannot send in another
// participant's name, and let a packet of a hostile client stop the process.
// Here there are no goroutines; what is too long or never ends is forgotten.
package stream

import (
	"maps"
	"time"
	"unicode/utf8"

	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/utils/guid"
)

const (
	// chunkBytes keeps a packet under the 16 kB that every WebRTC stack takes.
	chunkBytes = 15000
	// longest is how much of a stream's text is kept.
	longest = 64 << 10
	// open is how many streams may be incomplete at a time; the oldest gives way.
	open = 64
)

// Packet is a data packet that the SDK sends as it is.
type Packet struct{ *livekit.DataPacket }

// ToProto is what the SDK asks of a packet.
func (p Packet) ToProto() *livekit.DataPacket { return p.DataPacket }

// Text is a text stream to send.
type Text struct {
	ID         string // made by NewID
	Topic      string
	Identity   string // in whose name, when it is not the sender's own; only agents may
	Attributes map[string]string
	At         time.Time
}

// NewID makes the id of a stream.
func NewID() string { return guid.New("STR_") }

// Header opens a stream of unknown length.
func (t Text) Header() Packet {
	return t.packet(&livekit.DataPacket{Value: &livekit.DataPacket_StreamHeader{StreamHeader: &livekit.DataStream_Header{
		StreamId: t.ID, Timestamp: t.At.UnixMilli(), Topic: t.Topic, MimeType: "text/plain", Attributes: t.Attributes,
		ContentHeader: &livekit.DataStream_Header_TextHeader{TextHeader: &livekit.DataStream_TextHeader{
			OperationType: livekit.DataStream_CREATE, Generated: t.Identity != "",
		}},
	}}})
}

// Chunks carries text from the chunk of that index on, cut between characters.
func (t Text) Chunks(index uint64, text string) []Packet {
	var packets []Packet
	for len(text) > 0 {
		n := cut(text, chunkBytes)
		packets = append(packets, t.packet(&livekit.DataPacket{Value: &livekit.DataPacket_StreamChunk{StreamChunk: &livekit.DataStream_Chunk{
			StreamId: t.ID, ChunkIndex: index, Content: []byte(text[:n]),
		}}}))
		text = text[n:]
		index++
	}
	return packets
}

// Trailer closes the stream; its attributes add to those of the header.
func (t Text) Trailer(attributes map[string]string) Packet {
	return t.packet(&livekit.DataPacket{Value: &livekit.DataPacket_StreamTrailer{StreamTrailer: &livekit.DataStream_Trailer{
		StreamId: t.ID, Attributes: attributes,
	}}})
}

// Whole is a complete stream.
func (t Text) Whole(text string) []Packet {
	packets := append([]Packet{t.Header()}, t.Chunks(0, text)...)
	return append(packets, t.Trailer(nil))
}

func (t Text) packet(p *livekit.DataPacket) Packet {
	p.ParticipantIdentity = t.Identity
	return Packet{p}
}

// cut is the largest number of bytes, limit at most, that ends no character in its middle.
func cut(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	for n := limit; n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return limit
}

// Update tells how far a stream has come.
type Update struct {
	ID         string
	Topic      string
	Identity   string // the sender, or in whose name it was sent
	Attributes map[string]string
	Text       string // so far
	Done       bool   // no more follows
}

// Assembler puts streams together. The zero value is ready. Not safe for
// concurrent use.
type Assembler struct {
	streams map[string]*Update
	order   []string // the ids of streams, oldest first
}

// Header begins a stream. It is false for what is not plain text.
func (a *Assembler) Header(h *livekit.DataStream_Header, identity string) (Update, bool) {
	if h.GetTextHeader() == nil || h.GetCompression() != livekit.DataStream_NONE || h.GetStreamId() == "" {
		return Update{}, false
	}
	u := &Update{ID: h.GetStreamId(), Topic: h.GetTopic(), Identity: identity, Attributes: map[string]string{}}
	maps.Copy(u.Attributes, h.GetAttributes())
	if inline := h.GetInlineContent(); len(inline) > 0 {
		u.Text, u.Done = string(inline[:min(len(inline), longest)]), true
		return u.copy(), true
	}
	a.keep(u)
	return u.copy(), true
}

func (a *Assembler) keep(u *Update) {
	if a.streams == nil {
		a.streams = map[string]*Update{}
	}
	if _, again := a.streams[u.ID]; !again {
		a.order = append(a.order, u.ID)
	}
	a.streams[u.ID] = u
	if len(a.order) > open {
		a.forget(a.order[0])
	}
}

func (a *Assembler) forget(id string) {
	delete(a.streams, id)
	for i, known := range a.order {
		if known == id {
			a.order = append(a.order[:i], a.order[i+1:]...)
			return
		}
	}
}

// Chunk adds to a stream. It is false for a stream that nobody knows.
func (a *Assembler) Chunk(c *livekit.DataStream_Chunk) (Update, bool) {
	u := a.streams[c.GetStreamId()]
	if u == nil {
		return Update{}, false
	}
	u.Text += string(c.GetContent()[:min(len(c.GetContent()), longest-len(u.Text))])
	return u.copy(), true
}

// Trailer ends a stream. It is false for a stream that nobody knows.
func (a *Assembler) Trailer(t *livekit.DataStream_Trailer) (Update, bool) {
	u := a.streams[t.GetStreamId()]
	if u == nil {
		return Update{}, false
	}
	a.forget(u.ID)
	maps.Copy(u.Attributes, t.GetAttributes())
	u.Done = true
	return u.copy(), true
}

func (u *Update) copy() Update {
	c := *u
	c.Attributes = maps.Clone(u.Attributes)
	return c
}
