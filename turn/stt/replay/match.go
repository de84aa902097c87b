package replay

// The measure of a match. The figures come from the recordings of testdata/calls
// with white noise 15 dB below the speech, a gain of 6 dB either way and 3 % of
// the frames lost.
const (
	memory  = 0.98 // what a score keeps from one frame to the next: half in 700 ms
	prior   = 2    // frames of doubt that a score starts with
	alike   = 0.5  // a score that follows a recording to another place
	slack   = 20   // steps that a recording may begin earlier or later than it seems
	nearby  = 10   // steps: as near as that is the same place
	quieter = 30   // dB below the loudest: as quiet as that counts for nothing
)

// place is a step of a recording.
type place struct{ recording, step int }

// matcher follows what is heard through every recording at once. The score of
// a place says how alike the last half second and the recording up to there are.
type matcher struct {
	recordings []recording
	scores     [][]score // of each recording, of each step
	mean       *[bands]float32
}

// score is a weighted mean of likenesses, as its two sums.
type score struct{ sum, weight float32 }

func (s score) value() float32 { return s.sum / (s.weight + prior) }

func newMatcher(recordings []recording, mean *[bands]float32) *matcher {
	m := &matcher{recordings: recordings, mean: mean, scores: make([][]score, len(recordings))}
	for i, r := range recordings {
		m.scores[i] = make([]score, len(r.prints))
	}
	return m
}

// hear takes the fingerprint of the next 20 ms, two steps, with its weight: 1 for
// full speech, 0 for silence.
func (m *matcher) hear(p fingerprint, weight float32) {
	p.less(m.mean)
	for i := range m.recordings {
		prints, scores := m.recordings[i].prints, m.scores[i]
		for at := len(scores) - 1; at >= 0; at-- {
			var s score
			if at >= 2 {
				s = scores[at-2]
			}
			s.sum, s.weight = s.sum*memory, s.weight*memory
			if weight > 0 {
				s.sum += weight * p.like(&prints[at]) * loudness(prints[at].level)
				s.weight += weight
			}
			scores[at] = s
		}
	}
}

// loudness of a recording's step. The level is relative to the recording's
// loudest.
func loudness(level float32) float32 { return min(1, max(0, (level+quieter)/10)) }

// forget clears every score: what comes next is something else.
func (m *matcher) forget() {
	for _, scores := range m.scores {
		clear(scores)
	}
}

// found is a place with its score, and the score of the best other place: at
// another time of the recording, or in one that says something else.
type found struct {
	place
	score, rival float32
}

// opening looks for the recording that began with the speech, so many steps
// ago, give or take 200 ms.
func (m *matcher) opening(ago int) found {
	return m.search(func(i int) (int, int) {
		from := m.recordings[i].starts() + ago - slack
		return from, from + 2*slack + 1
	})
}

// anywhere looks at every place of every recording.
func (m *matcher) anywhere() found {
	return m.search(func(i int) (int, int) { return 0, len(m.scores[i]) })
}

// search looks at the steps of each recording that within names.
func (m *matcher) search(within func(recording int) (from, to int)) found {
	best := found{score: -1, rival: -1}
	for i := range m.scores {
		scores, from := m.part(i, within)
		for n, s := range scores {
			if value := s.value(); value > best.score {
				best.place, best.score = place{i, from + n}, value
			}
		}
	}
	for i := range m.scores {
		scores, from := m.part(i, within)
		for n, s := range scores {
			if value := s.value(); value > best.rival && !m.same(place{i, from + n}, best.place) {
				best.rival = value
			}
		}
	}
	return best
}

// part is the scores of a recording that within names, and the step of the first.
func (m *matcher) part(recording int, within func(recording int) (from, to int)) ([]score, int) {
	from, to := within(recording)
	scores := m.scores[recording]
	to = min(max(to, 0), len(scores))
	from = min(max(from, 0), to)
	return scores[from:to], from
}

// same tells whether two places are one, or say the same.
func (m *matcher) same(p, q place) bool {
	return max(p.step-q.step, q.step-p.step) <= nearby && m.recordings[p.recording].text == m.recordings[q.recording].text
}

// nearer is the best place within 200 ms of one.
func (m *matcher) nearer(to place) found {
	return m.search(func(i int) (int, int) {
		if i != to.recording {
			return 0, 0
		}
		return to.step - slack, to.step + slack + 1
	})
}

// at is the score of a place, 0 beyond the recording's ends.
func (m *matcher) at(p place) float32 { return m.score(p).value() }

// weight is how much speech the score of a place rests on, in frames.
func (m *matcher) weight(p place) float32 { return m.score(p).weight }

func (m *matcher) score(p place) score {
	if p.step < 0 || p.step >= len(m.scores[p.recording]) {
		return score{}
	}
	return m.scores[p.recording][p.step]
}

// settle makes a recording's prints comparable: levels relative to its loudest,
// shapes without the mean of all.
func settle(recordings []recording) *[bands]float32 {
	var mean [bands]float32
	var n float32
	for _, r := range recordings {
		loudest := float32(-1000)
		for _, p := range r.prints {
			loudest = max(loudest, p.level)
		}
		for i := range r.prints {
			p := &r.prints[i]
			p.level -= loudest
			if loudness(p.level) < 1 {
				continue
			}
			n++
			for b := range p.shape {
				mean[b] += p.shape[b]
			}
		}
	}
	for b := range mean {
		mean[b] /= max(n, 1)
	}
	for _, r := range recordings {
		for i := range r.prints {
			r.prints[i].less(&mean)
		}
	}
	return &mean
}
