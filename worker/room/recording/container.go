package recording

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

var (
	oggMagic  = []byte("OggS")
	ebmlMagic = []byte{0x1a, 0x45, 0xdf, 0xa3}
)

// oggHeader is the size of a page's header, before its table of segments
// (RFC 3533, 6).
const oggHeader = 27

// oggPackets gives the audio packets of a stream of Opus in Ogg (RFC 7845): all
// but the first two. It stops where the pages do.
func oggPackets(content []byte) [][]byte {
	var packets [][]byte
	var open []byte // the packet that goes on in the next segment
	for len(content) >= oggHeader && bytes.HasPrefix(content, oggMagic) {
		segments := int(content[oggHeader-1])
		if len(content) < oggHeader+segments {
			break
		}
		table := content[oggHeader : oggHeader+segments]
		content = content[oggHeader+segments:]
		for _, size := range table {
			n := min(int(size), len(content))
			open = append(open, content[:n]...)
			content = content[n:]
			if size < 255 {
				packets, open = append(packets, open), nil
			}
		}
	}
	return packets[min(2, len(packets)):]
}

// The elements of WebM that lead to audio, and those that hold it (RFC 8794, and
// Matroska's RFC 9559).
const (
	idSegment     = 0x18538067
	idCluster     = 0x1f43b675
	idBlockGroup  = 0xa0
	idBlock       = 0xa1
	idSimpleBlock = 0xa3
)

// blockHeader is what follows the track's number in a block: time and flags.
const blockHeader = 3

// webmPackets gives the packets of every block. It steps into the elements that
// hold blocks, whatever their size says: a recorder that still runs does not know it.
func webmPackets(content []byte) [][]byte {
	var packets [][]byte
	for len(content) > 0 {
		id, n := number(content, false)
		size, m := number(content[n:], true)
		if n == 0 || m == 0 {
			break
		}
		content = content[n+m:]
		switch id {
		case idSegment, idCluster, idBlockGroup:
			continue
		}
		size = min(size, uint64(len(content)))
		if id == idBlock || id == idSimpleBlock {
			if p := blockOf(content[:size]); p != nil {
				packets = append(packets, p)
			}
		}
		content = content[size:]
	}
	return packets
}

// blockOf is the packet in a block, nil when there are several in it, which no
// recorder writes.
func blockOf(block []byte) []byte {
	_, n := number(block, true)
	const laced = 0x06
	if n == 0 || len(block) <= n+blockHeader || block[n+blockHeader-1]&laced != 0 {
		return nil
	}
	return block[n+blockHeader:]
}

// number reads a number of one to eight bytes, whose length is in its first bits,
// which bare leaves out. It tells how many bytes it took, 0 when there is none.
func number(content []byte, bare bool) (uint64, int) {
	if len(content) == 0 || content[0] == 0 {
		return 0, 0
	}
	n := bits.LeadingZeros8(content[0]) + 1
	if len(content) < n {
		return 0, 0
	}
	var whole [8]byte
	copy(whole[8-n:], content[:n])
	value := binary.BigEndian.Uint64(whole[:])
	if bare {
		value &= 1<<(7*n) - 1
	}
	return value, n
}
