package stream

import (
	"maps"
	"slices"

	"github.com/livekit/protocol/livekit"
)

const (
	// mostBytes is how long a byte stream may be: 20 s of the largest recording,
	// 48 kHz stereo. A longer one is forgotten whole.
	mostBytes = 20 * 48000 * 2 * 2
	// openBytes is how many byte streams may be incomplete at a time, of
	// different senders: a second one of the same sender takes the first's place.
	openBytes = 4
)

// Recording is a complete byte stream.
type Recording struct {
	Topic      string
	Identity   string // the sender
	MIME       string
	Attributes map[string]string
	Bytes      []byte
}

// Collector puts the byte streams of one topic together. The zero value, with a
// topic, is ready. Not safe for concurrent use.
type Collector struct {
	Topic string
	open  []collected // the oldest first
}

type collected struct {
	id  string
	rec Recording
}

// Header begins a stream. What is compressed, of another topic or too long is
// left out. It is true for a stream that is complete already.
func (c *Collector) Header(h *livekit.DataStream_Header, identity string) (Recording, bool) {
	if h.GetByteHeader() == nil || h.GetTopic() != c.Topic || h.GetCompression() != livekit.DataStream_NONE ||
		h.GetStreamId() == "" || h.GetTotalLength() > mostBytes {
		return Recording{}, false
	}
	rec := Recording{Topic: c.Topic, Identity: identity, MIME: h.GetMimeType(), Attributes: maps.Clone(h.GetAttributes())}
	if inline := h.GetInlineContent(); len(inline) > 0 {
		rec.Bytes = inline
		return rec, len(inline) <= mostBytes
	}
	c.open = slices.DeleteFunc(c.open, func(o collected) bool { return o.rec.Identity == identity || o.id == h.GetStreamId() })
	if len(c.open) == openBytes {
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open = append(c.open, collected{h.GetStreamId(), rec})
	return Recording{}, false
}

// Chunk adds to a stream.
func (c *Collector) Chunk(chunk *livekit.DataStream_Chunk) {
	i := c.find(chunk.GetStreamId())
	if i < 0 {
		return
	}
	rec := &c.open[i].rec
	if len(rec.Bytes)+len(chunk.GetContent()) > mostBytes {
		c.open = slices.Delete(c.open, i, i+1)
		return
	}
	rec.Bytes = append(rec.Bytes, chunk.GetContent()...)
}

// Trailer ends a stream, and gives it. A trailer with a reason says that the
// sender has given up.
func (c *Collector) Trailer(t *livekit.DataStream_Trailer) (Recording, bool) {
	i := c.find(t.GetStreamId())
	if i < 0 {
		return Recording{}, false
	}
	rec := c.open[i].rec
	c.open = slices.Delete(c.open, i, i+1)
	if len(t.GetAttributes()) > 0 && rec.Attributes == nil {
		rec.Attributes = map[string]string{}
	}
	maps.Copy(rec.Attributes, t.GetAttributes())
	return rec, t.GetReason() == ""
}

func (c *Collector) find(id string) int {
	return slices.IndexFunc(c.open, func(o collected) bool { return o.id == id })
}

// Bytes is a byte stream to send.
type Bytes struct {
	ID         string // made by NewID
	Topic      string
	MIME       string
	Attributes map[string]string
}

// Whole is the complete stream.
func (b Bytes) Whole(content []byte) []Packet {
	length := uint64(len(content))
	packets := []Packet{{&livekit.DataPacket{Value: &livekit.DataPacket_StreamHeader{StreamHeader: &livekit.DataStream_Header{
		StreamId: b.ID, Topic: b.Topic, MimeType: b.MIME, Attributes: b.Attributes, TotalLength: &length,
		ContentHeader: &livekit.DataStream_Header_ByteHeader{ByteHeader: &livekit.DataStream_ByteHeader{Name: b.Topic}},
	}}}}}
	for i := uint64(0); len(content) > 0; i++ {
		n := min(len(content), chunkBytes)
		packets = append(packets, Packet{&livekit.DataPacket{Value: &livekit.DataPacket_StreamChunk{StreamChunk: &livekit.DataStream_Chunk{
			StreamId: b.ID, ChunkIndex: i, Content: content[:n],
		}}}})
		content = content[n:]
	}
	return append(packets, Packet{&livekit.DataPacket{Value: &livekit.DataPacket_StreamTrailer{StreamTrailer: &livekit.DataStream_Trailer{
		StreamId: b.ID,
	}}}})
}
