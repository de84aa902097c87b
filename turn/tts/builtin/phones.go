package builtin

import "strings"

// phone is one sound. Frequencies are in hertz, length in seconds; loud is the
// RMS of the sound, 1 is full scale.
type phone struct {
	length       float64
	formants     [3]float64
	voice, noise float64 // how much of each source
	hiss         float64 // where the noise lies
	loud         float64
	burst        bool // closed but for its end
	stress       bool
}

// The formants are the textbook's averages of men's vowels, rounded.
func vowel(f1, f2, f3 float64) phone {
	return phone{length: 0.095, formants: [3]float64{f1, f2, f3}, voice: 1, loud: 0.13}
}

func murmur(f1, f2, f3 float64) phone {
	return phone{length: 0.065, formants: [3]float64{f1, f2, f3}, voice: 1, loud: 0.07}
}

func hiss(hertz, loud float64) phone {
	return phone{length: 0.085, formants: [3]float64{400, 1600, 2600}, noise: 1, hiss: hertz, loud: loud}
}

func stop(hertz, voice float64) phone {
	return phone{length: 0.06, formants: [3]float64{300, 1400, 2500}, noise: 1, voice: voice, hiss: hertz, loud: 0.06, burst: true}
}

func pause(length float64) phone {
	return phone{length: length, formants: [3]float64{500, 1500, 2500}}
}

// sounds by their sign: a letter of its own for each, upper case for what two
// letters write.
var sounds = map[rune]phone{
	'a': vowel(750, 1300, 2500), 'e': vowel(480, 1900, 2550), 'i': vowel(290, 2250, 2950), 'o': vowel(480, 900, 2450), 'u': vowel(310, 780, 2300),
	'm': murmur(260, 1000, 2200), 'n': murmur(260, 1500, 2500), 'N': murmur(260, 2000, 2700), 'G': murmur(260, 2200, 2600), // N is ñ, G is ng
	'l': murmur(360, 1300, 2700), 'r': murmur(400, 1300, 1900), 'j': murmur(300, 2100, 2800), 'w': murmur(310, 800, 2200), 'v': murmur(250, 1100, 2300),
	's': hiss(5500, 0.05), 'S': hiss(2800, 0.06), 'z': hiss(5000, 0.045), 'T': hiss(4500, 0.03), 'f': hiss(4000, 0.03), 'x': hiss(1600, 0.05), 'h': hiss(1100, 0.03),
	'p': stop(900, 0), 't': stop(3800, 0), 'k': stop(2000, 0), 'b': stop(700, 0.6), 'd': stop(3200, 0.6), 'g': stop(1700, 0.6), 'C': stop(3000, 0),
	' ': pause(0.02), ',': pause(0.16), '.': pause(0.25),
}

// The letters of a language, longest first, as the signs of their sounds. They
// are read from left to right; what no rule knows is silent.
var (
	spanish = strings.NewReplacer(
		"que", "ke", "qui", "ki", "gue", "ge", "gui", "gi", "güe", "gue", "güi", "gui", "ch", "C", "ll", "j", "rr", "rr", "ce", "Te", "ci", "Ti", "cé", "Té", "cí", "Tí",
		"ge", "xe", "gi", "xi", "gé", "xé", "gí", "xí", "ñ", "N", "j", "x", "z", "T", "c", "k", "q", "k", "v", "b", "h", "", "x", "ks", "y ", "i ", "y", "j",
		";", ",", ":", ",", "…", ".", "!", ".", "?", ".", "\n", ".", "—", ",", "ü", "u")
	english = strings.NewReplacer(
		"the ", "Te ", "tion", "Son", "igh", "ai", "th", "T", "sh", "S", "ch", "C", "ph", "f", "ng", "G", "ck", "k", "qu", "kw", "wh", "w", "oo", "u", "ee", "i", "ea", "i", "ou", "au", "ow", "au",
		"ai", "ei", "ay", "ei", "e ", " ", "e.", ".", "e,", ",", "ce", "se", "ci", "si", "cy", "si", "c", "k", "q", "k", "j", "C", "x", "ks", "y ", "i ", "y", "j",
		";", ",", ":", ",", "…", ".", "!", ".", "?", ".", "\n", ".", "—", ",", "á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u", "ñ", "nj")
)

var accents = map[rune]rune{'á': 'a', 'é': 'e', 'í': 'i', 'ó': 'o', 'ú': 'u', 'à': 'a', 'è': 'e', 'ò': 'o', 'ç': 's'}

// read turns a text in lower case into sounds.
func read(text string, isSpanish bool) []phone {
	rules := english
	if isSpanish {
		rules = spanish
	}
	var out []phone
	for _, sign := range rules.Replace(text + " ") {
		plain, accented := accents[sign]
		if !accented {
			plain = sign
		}
		p, ok := sounds[plain]
		if !ok {
			continue
		}
		if accented {
			p.stress = true
			p.length *= 1.25
		}
		out = append(out, p)
	}
	return out
}
