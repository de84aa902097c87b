package tts

// spans follows which Markdown constructs are open, so that no clause is cut
// inside a link or an emphasis, whose marks only both ends together explain. A
// mark that nothing closes is believed for as long as a clause may grow, and no
// further than its line.
type spans struct {
	buf            []byte
	code, strong   bool
	star, under    bool
	bracket, round int // depth of [text] and of its (address)
}

func newSpans(buf []byte) *spans { return &spans{buf: buf} }

// open tells whether anything is open behind the last step.
func (s *spans) open() bool {
	return s.code || s.strong || s.star || s.under || s.bracket > 0 || s.round > 0
}

// step takes the byte at i; steps come in order.
func (s *spans) step(i int) {
	b := s.buf[i]
	switch {
	case b == '\n':
		*s = spans{buf: s.buf}
	case i > 0 && s.buf[i-1] == '\\':
	case b == '`':
		s.code = !s.code
	case s.code:
	case b == '*':
		s.asterisk(i)
	case b == '_':
		s.underscore(i)
	default:
		s.link(i)
	}
}

// asterisk takes a whole run at its first: one is emphasis, two are strong,
// three are both. One between spaces is a sign or a bullet, not a mark.
func (s *spans) asterisk(i int) {
	if s.at(i-1) == '*' {
		return
	}
	run := 1
	for s.at(i+run) == '*' {
		run++
	}
	if run == 1 && isSpace(s.at(i-1)) && isSpace(s.at(i+1)) {
		return
	}
	s.star = s.star != (run != 2)
	s.strong = s.strong != (run >= 2)
}

// underscore counts only at the edge of a word: snake_case holds none.
func (s *spans) underscore(i int) {
	opens := !isAlnum(s.at(i-1)) && isAlnum(s.at(i+1))
	closes := isAlnum(s.at(i-1)) && !isAlnum(s.at(i+1))
	if opens && !s.under {
		s.under = true
	} else if closes || s.at(i-1) == '_' {
		s.under = false
	}
}

func (s *spans) link(i int) {
	switch b := s.buf[i]; {
	case b == '[' && s.round == 0:
		s.bracket++
	case b == ']' && s.bracket > 0:
		s.bracket--
	case b == '(' && (s.round > 0 || s.at(i-1) == ']'):
		s.round++
	case b == ')' && s.round > 0:
		s.round--
	}
}

// at is the byte at i, a space beyond the ends.
func (s *spans) at(i int) byte {
	if i < 0 || i >= len(s.buf) {
		return ' '
	}
	return s.buf[i]
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
