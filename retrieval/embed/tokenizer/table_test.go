package tokenizer_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/embed/tokenizer"
)

// written is a tokenizer.json of a WordPiece whose words are those that a test
// expects, so that its ids tell how a text was normalised and split: word i of
// the list has the id i+1, and what is not in it has 0.
func written(normalizer, splitter string, words ...string) string {
	vocab := map[string]int{"?": 0}
	for i, w := range words {
		vocab[w] = i + 1
	}
	text, err := json.Marshal(vocab)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"normalizer":%s,"pre_tokenizer":%s,"model":{"type":"WordPiece","unk_token":"?","vocab":%s}}`, normalizer, splitter, text)
}

// TestSplit holds each way to normalise and to split to the words that it
// leaves, by the documentation of Hugging Face's tokenizers.
func TestSplit(t *testing.T) {
	t.Parallel()
	const bert, none = `{"type":"BertPreTokenizer"}`, `null`
	for _, c := range []struct {
		normalizer, splitter, text string
		want                       []string
	}{
		{none, none, "a b", []string{"a b"}},
		{none, bert, "a\u00a0b, c", []string{"a", "b", ",", "c"}},
		{none, `{"type":"Whitespace"}`, "don't ¿qué?!", []string{"don", "'", "t", "¿", "qué", "?!"}},
		{none, `{"type":"WhitespaceSplit"}`, " a  b. ", []string{"a", "b."}},
		{none, `{"type":"Digits","individual_digits":false}`, "a12b٣", []string{"a", "12", "b", "٣"}},
		{none, `{"type":"Digits","individual_digits":true}`, "a12b", []string{"a", "1", "2", "b"}},
		{none, `{"type":"Punctuation"}`, "a..b!", []string{"a", ".", ".", "b", "!"}},
		{none, `{"type":"Punctuation","behavior":"Contiguous"}`, "a..b!", []string{"a", "..", "b", "!"}},
		{none, `{"type":"Punctuation","behavior":"Contiguous"}`, "...", []string{"..."}},
		{none, `{"type":"Punctuation","behavior":"Removed"}`, "a..b!", []string{"a", "b"}},
		{none, `{"type":"Punctuation","behavior":"MergedWithPrevious"}`, "a..b!c", []string{"a.", ".", "b!", "c"}},
		{none, `{"type":"Punctuation","behavior":"MergedWithNext"}`, "a..b!c", []string{"a", ".", ".b", "!c"}},
		{none, `{"type":"Split","pattern":{"String":"-"},"behavior":"Removed","invert":false}`, "a-b", []string{"a", "b"}},
		{none, `{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated","invert":false}`, "añ-b", []string{"añ", "-", "b"}},
		{none, `{"type":"Split","pattern":{"Regex":"\\d+"},"behavior":"Removed","invert":true}`, "a1b22", []string{"1", "22"}},
		{none, `{"type":"Metaspace","replacement":"_","prepend_scheme":"always","split":true}`, "a b  c", []string{"_a", "_b", "_", "_c"}},
		{none, `{"type":"Metaspace","replacement":"_","prepend_scheme":"never","split":true}`, "a b", []string{"a", "_b"}},
		{none, `{"type":"Metaspace","replacement":"_","add_prefix_space":false}`, "a b", []string{"a", "_b"}},
		{none, `{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false}`, "a b", []string{"_a_b"}},
		{none, `{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"_","prepend_scheme":"first"}]}`, "a b", []string{"_a", "b"}},
		{`{"type":"BertNormalizer"}`, bert, "Él\u0000\u200b 中文\u0085x\tİ", []string{"el", "中", "文", "x", "i"}},
		{`{"type":"BertNormalizer","lowercase":false}`, bert, "Él 中文", []string{"Él", "中", "文"}},
		{`{"type":"BertNormalizer","handle_chinese_chars":false,"strip_accents":false}`, bert, "ÉL 中文", []string{"él", "中文"}},
		{`{"type":"BertNormalizer","lowercase":false,"strip_accents":true}`, bert, "ÉL", []string{"EL"}},
		{`{"type":"Lowercase"}`, none, "ΟΔΥΣΣΕΥΣ", []string{"οδυσσευσ"}},
		{`{"type":"NFKC"}`, none, "①ﬁ", []string{"1fi"}},
		{`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}`, none, "ñandú", []string{"nandu"}},
		{`{"type":"Strip","strip_left":true,"strip_right":false}`, none, "\u00a0a ", []string{"a "}},
		{`{"type":"Prepend","prepend":"_"}`, none, "a", []string{"_a"}},
		{`{"type":"Replace","pattern":{"String":"."},"content":" . "}`, bert, "a.b", []string{"a", ".", "b"}},
		{`{"type":"Replace","pattern":{"Regex":"[\\s,]+"},"content":"_"}`, none, "a \u00a0,b", []string{"a_b"}},
		{`{"type":"Nmt"}`, none, "a\u200bb\u0001\nc", []string{"a b c"}},
		{`{"type":"Precompiled","precompiled_charsmap":""}`, none, "a", []string{"a"}},
	} {
		words := slices.Compact(slices.Sorted(slices.Values(c.want)))
		tok, err := tokenizer.Read([]byte(written(c.normalizer, c.splitter, words...)))
		if err != nil {
			t.Fatalf("%s %s: %v", c.normalizer, c.splitter, err)
		}
		var got []string
		for _, id := range tok.Encode(c.text) {
			got = append(got, append([]string{"(unknown)"}, words...)[id])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s %q (-want +got):\n%s", c.normalizer, c.splitter, c.text, d)
		}
	}
}

func TestAddedTokens(t *testing.T) {
	t.Parallel()
	const file = `{"added_tokens":[
		{"id":10,"content":"<a>","special":true},
		{"id":11,"content":"<a>b","special":true},
		{"id":12,"content":"<l>","lstrip":true},
		{"id":13,"content":"<r>","rstrip":true},
		{"id":14,"content":"yo","single_word":true},
		{"id":15,"content":"Ñu","normalized":true},
		{"id":16,"content":""},
		{"id":99,"content":"x"}],
		"normalizer":{"type":"Lowercase"},
		"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"x":1," ":2,"y":3,"##o":4}}}`
	tok, err := tokenizer.Read([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want []int
	}{
		{"<a>", []int{10}},
		{"x<a>by", []int{1, 11, 3}}, // the longest, and the vocabulary's id of x
		{"<A>", []int{0}},           // looked for before letters are lowered
		{"x  <l> x", []int{1, 12, 2, 1}},
		{"x<r> \u00a0y", []int{1, 13, 3}},
		{"yoyo", []int{0}},
		{"yo", []int{14}},
		{"y,yo", []int{0, 14}},
		{"ñu", []int{15}}, // looked for when letters are lowered
		{"ÑUy", []int{15, 3}},
	} {
		if d := cmp.Diff(c.want, tok.Encode(c.text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
	if tok.Largest() != 15 {
		t.Fatalf("the largest id is %d", tok.Largest())
	}
}

func TestUnigram(t *testing.T) {
	t.Parallel()
	bytes := []string{`["?",0]`, `["a",0]`, `["b",0]`, `["cd",1]`, `["ab",2]`, `["abc",5]`, `["abcd",10]`, `["c",0]`, `["d",0]`}
	for b := range 256 {
		bytes = append(bytes, fmt.Sprintf(`["<0x%02X>",-20]`, b))
	}
	for _, c := range []struct {
		options, text string
		want          []int
	}{
		{`"unk_id":0`, "abcdacdxx", []int{6, 1, 3, 0}},
		{`"unk_id":0`, "xaxxbx", []int{0, 1, 0, 2, 0}},
		{`"unk_id":0,"byte_fallback":true`, "añ", []int{1, 9 + 0xC3, 9 + 0xB1}},
		{`"unk_id":null`, "axb", []int{1, 2}}, // nothing stands for x
		{`"unk_id":0`, "", nil},
	} {
		file := fmt.Sprintf(`{"model":{"type":"Unigram",%s,"vocab":[%s]}}`, c.options, strings.Join(bytes, ","))
		tok, err := tokenizer.Read([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, tok.Encode(c.text)); d != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.options, c.text, d)
		}
	}
}

// double builds SentencePiece's charsmap the slow way: nodes are placed one by
// one where their children are free.
func double(rules map[string]string) []byte {
	replacements, leaf := []byte{}, map[string]uint32{}
	for _, from := range slices.Sorted(maps.Keys(rules)) {
		leaf[from] = uint32(len(replacements))
		replacements = append(append(replacements, rules[from]...), 0)
	}
	units := make([]uint32, 1<<14)
	used := make([]bool, len(units))
	used[0] = true
	var place func(prefix string, at uint32)
	place = func(prefix string, at uint32) {
		var labels []byte
		if _, ok := leaf[prefix]; ok {
			labels = append(labels, 0)
		}
		for key := range rules {
			if len(key) > len(prefix) && strings.HasPrefix(key, prefix) && !slices.Contains(labels, key[len(prefix)]) {
				labels = append(labels, key[len(prefix)])
			}
		}
		slices.Sort(labels)
		base := uint32(1)
		for slices.ContainsFunc(labels, func(c byte) bool { return used[at^base^uint32(c)] }) {
			base++
		}
		units[at] |= base << 10
		if labels[0] == 0 {
			units[at] |= 1 << 8
		}
		for _, c := range labels {
			used[at^base^uint32(c)] = true
		}
		for _, c := range labels {
			if c == 0 {
				units[at^base] = leaf[prefix] | 1<<31
			} else {
				units[at^base^uint32(c)] = uint32(c)
				place(prefix+string([]byte{c}), at^base^uint32(c))
			}
		}
	}
	place("", 0)
	out := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint32(out, u)
	}
	return append(out, replacements...)
}

func TestCharsmap(t *testing.T) {
	t.Parallel()
	rules := map[string]string{"ﬁ": "fi", "\u00a0": " ", "e\u0301": "é", "①": "1", "\u200b": ""}
	normalizer := fmt.Sprintf(`{"type":"Precompiled","precompiled_charsmap":%q}`, base64.StdEncoding.EncodeToString(double(rules)))
	for text, want := range map[string]string{
		"ﬁn\u00a0cafe\u0301 ①": "fin café 1",
		"a\u200bb":             "ab",
		"e f":                  "e f", // e alone is no rule
		"ﬁ\u0301":              "fi",  // the first that fits stands for the whole letter
		"":                     "",
	} {
		tok, err := tokenizer.Read([]byte(written(normalizer, "null", want)))
		if err != nil {
			t.Fatal(err)
		}
		ids := []int{1}
		if want == "" {
			ids = nil
		}
		if d := cmp.Diff(ids, tok.Encode(text), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%q is not %q:\n%s", text, want, d)
		}
	}
}

func TestFrame(t *testing.T) {
	t.Parallel()
	tok := load(t, "bert")
	for _, c := range []struct {
		limit int
		want  []int
	}{{0, []int{2, 7, 8, 9, 3}}, {5, []int{2, 7, 8, 9, 3}}, {4, []int{2, 7, 8, 3}}, {1, []int{2, 3}}} {
		if d := cmp.Diff(c.want, tok.Frame([]int{7, 8, 9}, c.limit)); d != "" {
			t.Fatalf("limit %d (-want +got):\n%s", c.limit, d)
		}
	}
	const file = `{"post_processor":{"type":"%s","sep":["</s>",2],"cls":["<s>",1]},"model":{"type":"WordPiece","vocab":{"a":2}}}`
	for _, kind := range []string{"BertProcessing", "RobertaProcessing"} {
		tok, err := tokenizer.Read(fmt.Appendf(nil, file, kind))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int{1, 2, 2}, tok.Frame([]int{2}, 0)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const model = `"model":{"type":"WordPiece","vocab":{"a":1}}`
	for file, complaint := range map[string]string{
		``:                         "unexpected end",
		`{}`:                       "no model",
		`{"model":{"type":"BPE"}}`: `model "BPE" is not known`,
		`{"model":{"type":"WordPiece","vocab":{"a":-1}}}`:                                        "out of bounds",
		`{"model":{"type":"WordPiece","vocab":{"a":999999999}}}`:                                 "out of bounds",
		`{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":1}}`:                              "unk_id",
		`{"model":{"type":"Unigram","vocab":[["a"]],"unk_id":"x"}}`:                              "unk_id",
		`{"normalizer":{"type":"Magic"},` + model + `}`:                                          "normalizer Magic: type is not known",
		`{"pre_tokenizer":{"type":"ByteLevel"},` + model + `}`:                                   "pre_tokenizer ByteLevel: type is not known",
		`{"post_processor":{"type":"Magic"},` + model + `}`:                                      "post_processor Magic: type is not known",
		`{"normalizer":{"type":"Replace","pattern":{"Regex":"(?=a)"}},` + model + `}`:            `read pattern "(?=a)"`,
		`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAAAA=="},` + model + `}`:  "cut short",
		`{"post_processor":{"type":"BertProcessing","sep":["x",9],"cls":["y",1]},` + model + `}`: "special token 9",
	} {
		if _, err := tokenizer.Read([]byte(file)); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v does not tell %q", file, err, complaint)
		}
	}
}

// FuzzRead: no file and no text breaks the reader, and every id is one that the
// file has.
func FuzzRead(f *testing.F) {
	f.Add([]byte(written(`{"type":"BertNormalizer"}`, `{"type":"BertPreTokenizer"}`, "a", "##b")), "ab Ñ")
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["ab",-1e308]]},"pre_tokenizer":{"type":"Metaspace"}}`), "ab\xffc")
	charsmap := base64.StdEncoding.EncodeToString(double(map[string]string{"a": "b"})[:64])
	f.Add(fmt.Appendf(nil, `{"normalizer":{"type":"Precompiled","precompiled_charsmap":%q},"model":{"type":"Unigram","vocab":[]}}`, charsmap), "aa")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := tokenizer.Read(file)
		if err != nil {
			return
		}
		for _, id := range tok.Frame(tok.Encode(text), 0) {
			if id < 0 || id > tok.Largest() {
				t.Fatalf("id %d of %q is not between 0 and %d", id, text, tok.Largest())
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	const text = "¿Cuánto cuesta la revisión anual y qué preparación necesito? La revisión anual cuesta 60,50 euros (IVA incluido)."
	for _, name := range []string{"bert", "metaspace", "model2vec"} {
		b.Run(name, func(b *testing.B) {
			tok := load(b, name)
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text)
			}
		})
	}
}
