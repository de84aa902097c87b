package turn

// Unfinished tells what endpointing reads in a text.
func Unfinished(text, language string) bool {
	s := state{cfg: Config{Language: language}}
	return s.unfinished(text)
}

// IsBackchannel tells whether a text only shows that somebody listens.
func IsBackchannel(text, language string) bool { return isBackchannel(text, language) }
