package remote

import (
	"strings"
	"unicode/utf8"
)

// bytesAToken is how few bytes a token has, to be on the safe side.
const bytesAToken = 3

// item is a text that is sent, and its place among the texts that were given.
type item struct {
	at   int
	text string
}

func tokens(text string) int { return (len(text) + bytesAToken - 1) / bytesAToken }

// batches parts the items, in order, into requests within the limits. A text
// that is over them alone goes alone.
func batches(items []item, inputs, most int) [][]item {
	var list [][]item
	from, sum := 0, 0
	for i, it := range items {
		n := tokens(it.text)
		if i > from && (i-from == inputs || sum+n > most) {
			list = append(list, items[from:i])
			from, sum = i, 0
		}
		sum += n
	}
	if from < len(items) {
		list = append(list, items[from:])
	}
	return list
}

func words(items []item) []string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = it.text
	}
	return texts
}

// cut takes whole letters off the end of a text until it has at most n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n])
}
