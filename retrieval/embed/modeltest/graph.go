package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of ONNX's protocol: element types, and the type of an attribute.
const (
	float32s, int64s = 1, 7
	attributeInt     = 2
)

// message is a protobuf message that is being written.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) number(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) of(field protowire.Number, inner message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), inner)
}

// node is an operation with at most one attribute, a number.
func node(operation string, inputs []string, output, attribute string, value uint64) message {
	var n message
	for _, in := range inputs {
		n = n.text(1, in)
	}
	n = n.text(2, output).text(3, output+"_node").text(4, operation)
	if attribute != "" {
		n = n.of(5, message{}.text(1, attribute).number(3, value).number(20, attributeInt))
	}
	return n
}

// value is the declaration of an input or output; sizes below 0 are free.
func value(name string, element uint64, sizes ...int) message {
	var shape message
	for i, n := range sizes {
		size := message{}.text(2, name+string(rune('a'+i)))
		if n >= 0 {
			size = message{}.number(1, uint64(n))
		}
		shape = shape.of(1, size)
	}
	return message{}.text(1, name).of(2, message{}.of(1, message{}.number(1, element).of(2, shape)))
}

func constant(name string, element uint64, data []byte, sizes ...int) message {
	var t message
	for _, n := range sizes {
		t = t.number(1, uint64(n))
	}
	return t.number(2, element).text(8, name).of(9, data)
}

// Graph writes an ONNX graph that gives each token its row of a table, and zeros
// where the mask is 0: the shape of an encoder's answer, without an encoder.
func Graph(table [][]float32, output string) []byte {
	var rows []byte
	for _, row := range table {
		for _, x := range row {
			rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(x))
		}
	}
	dim := len(table[0])
	graph := message{}.
		of(1, node("Gather", []string{"table", "input_ids"}, "rows", "axis", 0)).
		of(1, node("Cast", []string{"attention_mask"}, "on", "to", float32s)).
		of(1, node("Unsqueeze", []string{"on", "axes"}, "each", "", 0)).
		of(1, node("Mul", []string{"rows", "each"}, output, "", 0)).
		text(2, "tokens").
		of(5, constant("table", float32s, rows, len(table), dim)).
		of(5, constant("axes", int64s, binary.LittleEndian.AppendUint64(nil, 2), 1)).
		of(11, value("input_ids", int64s, -1, -1)).
		of(11, value("attention_mask", int64s, -1, -1)).
		of(12, value(output, float32s, -1, -1, dim))
	return message{}.number(1, 8).of(7, graph).of(8, message{}.text(1, "").number(2, 14))
}

// Framed is Words with a [CLS] before and a [SEP] after each text: ids 2 and 3, the
// words' from 4.
func Framed(words ...string) []byte {
	var file map[string]any
	if err := json.Unmarshal(Words(append([]string{"[CLS]", "[SEP]"}, words...)...), &file); err != nil {
		panic(err) // it was written a line above
	}
	file["post_processor"] = map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}}
	text, err := json.Marshal(file)
	if err != nil {
		panic(err) // of maps and strings
	}
	return text
}

// Encoder writes a model as sentence-transformers export it, of the Vocabulary,
// in a new folder of t.
func Encoder(t testing.TB) string {
	t.Helper()
	table := make([][]float32, len(Vocabulary)+4)
	for i := range table {
		for k := range 8 {
			table[i] = append(table[i], float32(math.Sin(float64(i*i+k*k*i+k))))
		}
	}
	return Folder(t, map[string][]byte{
		"onnx/model.onnx": Graph(table, "last_hidden_state"), "tokenizer.json": Framed(Vocabulary...),
		"1_Pooling/config.json": []byte(`{"pooling_mode_mean_tokens":true}`),
		"modules.json":          []byte(`[{"type":"sentence_transformers.models.Transformer"},{"type":"sentence_transformers.models.Pooling"}]`),
		"config.json":           []byte(`{"model_type":"bert","max_position_embeddings":64}`),
	})
}
