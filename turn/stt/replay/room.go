package replay

const (
	quietest   = -20  // dB, of a sound's level: nothing lies below it (about -60 dB of full scale)
	aboveNoise = 6    // dB over the floor: louder than that may be speech
	fullOver   = 8    // dB over that: full speech
	floorOver  = 100  // frames, 2 s: the floor is the least level among them
	silentFor  = 5    // frames of digital silence in a row are silence; fewer are lost frames
	peakFall   = 0.1  // dB a frame: the loudest is forgotten slowly
	noisePace  = 0.1  // of the way, each frame of noise
	leastLeft  = 0.05 // of a band's energy, when noise is taken off
)

// room follows what the caller's end sounds like when nobody speaks there, and
// how loud speech is.
type room struct {
	levels [floorOver]float32 // the last ones, as a ring
	heard  int
	silent int // frames of digital silence in a row
	peak   float32
	noise  sound
}

// clear takes the noise off a sound and gives its weight in the match: 0 for
// noise, 1 for full speech.
func (r *room) clear(s sound, silent bool) (sound, float32) {
	weight := r.weight(s.level(), silent)
	for b, energy := range s {
		if weight == 0 && r.silent == 0 {
			r.noise[b] += (energy - r.noise[b]) * noisePace
		}
		s[b] = max(energy-r.noise[b], energy*leastLeft)
	}
	return s, weight
}

func (r *room) weight(now float32, silent bool) float32 {
	if silent {
		now = quietest
		r.silent++
		if r.silent < silentFor {
			return 0
		}
	} else {
		r.silent = 0
	}
	if r.heard == 0 {
		r.peak = now
	}
	now = max(now, quietest)
	r.levels[r.heard%floorOver] = now
	r.heard++
	r.peak = max(now, r.peak-peakFall)
	from := max(r.floor()+aboveNoise, r.peak-quieter)
	return min(1, max(0, (now-from)/fullOver))
}

func (r *room) floor() float32 {
	floor := r.levels[0]
	for _, level := range r.levels[:min(r.heard, floorOver)] {
		floor = min(floor, level)
	}
	return floor
}
