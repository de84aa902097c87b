package chunk

import "strings"

// Clean makes a text fit to be indexed and stored: UTF-8 without a byte order
// mark, without NUL, with line feeds alone. What is not UTF-8 becomes U+FFFD.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.TrimPrefix(text, "\uFEFF")
	return cleaner.Replace(text)
}

var cleaner = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "")

// body returns what follows the front matter. Front matter stands at byte 0
// only, between --- and --- or ..., or between +++ and +++, and its first line
// is a key or a comment: a rule above a paragraph is no front matter. One that
// never closes is body.
func body(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	opener := strings.TrimRight(first, " \t")
	if opener != "---" && opener != "+++" {
		return text
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		next := min(at+len(line)+1, len(rest))
		if closes(opener, strings.TrimRight(line, " \t")) {
			return rest[next:]
		}
		if at == 0 && !startsMetadata(opener, line) {
			return text
		}
		at = next
	}
	return text
}

func closes(opener, line string) bool {
	return line == opener || opener == "---" && line == "..."
}

func startsMetadata(opener, line string) bool {
	line = strings.TrimSpace(line)
	mark := ":"
	if opener == "+++" {
		mark = "="
	}
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") || strings.Contains(line, mark)
}
