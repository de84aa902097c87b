package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// charsmap is SentencePiece's compiled table of rewritten letters: a double-array
// trie whose leaves are places in a text of replacements, each ended by a zero.
type charsmap struct {
	units        []uint32
	replacements []byte
}

func readCharsmap(file []byte) (*charsmap, error) {
	if len(file) < 4 {
		return nil, errors.New("charsmap is cut short")
	}
	size := binary.LittleEndian.Uint32(file)
	file = file[4:]
	if size%4 != 0 || uint64(size) > uint64(len(file)) || size == 0 {
		return nil, errors.New("charsmap's trie is cut short")
	}
	m := &charsmap{units: make([]uint32, size/4), replacements: file[size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(file[4*i:])
	}
	if !utf8.Valid(m.replacements) {
		return nil, errors.New("charsmap's replacements are no text")
	}
	return m, nil
}

// offset is how far a unit's children are from it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// replacement is what stands for the shortest beginning of text that the table
// has. It stands for all of text then, which is what the models are trained with.
func (m *charsmap) replacement(text string) ([]byte, bool) {
	at := offset(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		at ^= c
		if c == 0 || uint64(at) >= uint64(len(m.units)) || m.units[at]&(1<<31|0xff) != c {
			return nil, false
		}
		unit := m.units[at]
		at ^= offset(unit)
		if unit>>8&1 == 1 {
			return m.leaf(at)
		}
	}
	return nil, false
}

func (m *charsmap) leaf(at uint32) ([]byte, bool) {
	if uint64(at) >= uint64(len(m.units)) {
		return nil, false
	}
	from := m.units[at] & (1<<31 - 1)
	if uint64(from) > uint64(len(m.replacements)) {
		return nil, false
	}
	text, _, _ := bytes.Cut(m.replacements[from:], []byte{0})
	return text, true
}

// longestGrapheme is how many bytes a letter with its marks may have to be
// looked up whole.
const longestGrapheme = 5

func (m *charsmap) normalise(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	state := -1
	for rest := text; rest != ""; {
		var letter string
		letter, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(letter) <= longestGrapheme {
			if r, ok := m.replacement(letter); ok {
				out.Write(r)
				continue
			}
		}
		for at, r := range letter {
			part := letter[at : at+utf8.RuneLen(r)]
			if r, ok := m.replacement(part); ok {
				out.Write(r)
			} else {
				out.WriteString(part)
			}
		}
	}
	return strings.ToValidUTF8(out.String(), "\ufffd") // a leaf may point into a letter
}
