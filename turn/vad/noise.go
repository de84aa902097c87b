package vad

// How the noise floor follows the sound. Read speech dips to the noise in each
// band within a second; a machine's tone does not vary at all.
const (
	blockWindows  = 24  // the floor is the lowest of this block and the last: of 0.8 to 1.5 s
	smoothing     = 0.4 // how much of a new window enters the level whose lowest is kept
	steadyWindows = 8   // how many windows must be alike to be a machine's
	steadyDB      = 3.0 // how alike: the range of a band's level, on average over the bands
)

// noise follows, band by band in decibels, the level that is there when nobody
// speaks: the lowest of the last second or so. A sound that stands still for
// a quarter of a second, as a hum does and a voice does not, is noise at once.
type noise struct {
	heard  int // windows
	smooth [bands]float32
	lowest [bands]float32 // in this block
	before [bands]float32 // in the last
	recent [steadyWindows][bands]float32
}

// hear takes the levels of the next window.
func (n *noise) hear(level *[bands]float32) {
	if n.heard == 0 {
		n.settle(level)
	}
	n.recent[n.heard%steadyWindows] = *level
	n.heard++
	if n.heard%blockWindows == 0 {
		n.before, n.lowest = n.lowest, n.smooth
	}
	for b, l := range level {
		n.smooth[b] += smoothing * (l - n.smooth[b])
		n.lowest[b] = min(n.lowest[b], n.smooth[b])
	}
	if n.heard >= steadyWindows && n.spread() < steadyDB {
		n.settle(level)
	}
}

// settle takes the levels for noise.
func (n *noise) settle(level *[bands]float32) {
	n.smooth, n.lowest, n.before = *level, *level, *level
}

// spread is the range of a band's level over the recent windows, on average.
func (n *noise) spread() float32 {
	low, high := n.recent[0], n.recent[0]
	for i := 1; i < steadyWindows; i++ {
		for b, l := range n.recent[i] {
			low[b], high[b] = min(low[b], l), max(high[b], l)
		}
	}
	var sum float32
	for b := range low {
		sum += high[b] - low[b]
	}
	return sum / float32(bands)
}

// excess is how far the levels stand out of the noise, in decibels, on average
// over the bands. Each band counts from marginDB to ceilingDB above the floor,
// so that neither chance nor one loud tone argues alone.
func (n *noise) excess(level *[bands]float32) float32 {
	var sum float32
	for b, l := range level {
		sum += max(0, min(ceilingDB, l-min(n.lowest[b], n.before[b])-marginDB))
	}
	return sum / float32(bands)
}
