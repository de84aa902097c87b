package vad

import "math"

// Silero is Silero VAD's 16 kHz network for one call: a short-time Fourier
// transform, four convolutions, an LSTM cell and a sigmoid, in float32. It
// carries 64 samples and the LSTM's state from each window to the next.
type Silero struct {
	w *Weights

	// What is carried over. The samples of the window before stand at the front
	// of samples; the LSTM's output is the second half of joint.
	samples [paddedSamples]float32
	cell    [wide]float32
	joint   [wide][2]float32 // the LSTM's input and its output, two by two

	// Scratch of one window, kept so that judging allocates nothing.
	sums    [filterTaps][frames]float32
	diffs   [filterTaps / 2][frames]float32
	bins    [bins][frames]float32
	hidden1 [wide][frames]float32
	hidden2 [narrow][2]float32
	hidden3 [narrow / 2][2]float32
	output  [wide / 2][2]float32
}

// NewEngine is an engine that has heard nothing, with these weights.
func (w *Weights) NewEngine() *Silero {
	return &Silero{w: w}
}

// Reset implements Engine.
func (s *Silero) Reset() {
	*s = Silero{w: s.w}
}

// Probability implements Engine.
func (s *Silero) Probability(window []float32) float32 {
	s.listen((*[WindowSamples]float32)(window))
	s.transform()
	s.convolve()
	s.remember()
	return s.decide()
}

// listen puts the window behind the context and mirrors its end. The context
// of the next window is taken before this one overwrites it.
func (s *Silero) listen(window *[WindowSamples]float32) {
	copy(s.samples[:contextSamples], s.samples[WindowSamples:][:contextSamples])
	copy(s.samples[contextSamples:], window[:])
	const end = contextSamples + WindowSamples
	for i := range reflected {
		s.samples[end+i] = s.samples[end-2-i]
	}
}

// transform fills the magnitudes of each frame's frequencies.
func (s *Silero) transform() {
	even, odd := s.overlap()
	rows := s.w.filterRows
	var re, im [2][frames]float32
	for pair := range (bins + 1) / 2 {
		filterPair(&re, s.w.realPart[pair*rows:][:rows], even)
		filterPair(&im, s.w.imagPart[pair*rows:][:rows], odd)
		magnitudes(&s.bins[pair*2], &re[0], &im[0])
		if pair*2+1 < bins {
			magnitudes(&s.bins[pair*2+1], &re[1], &im[1])
		}
	}
}

// overlap lays the frames of the transform beside each other, for the even
// filters and for the odd.
func (s *Silero) overlap() (even, odd [][frames]float32) {
	if s.w.folded {
		s.fold()
		return s.sums[:filterTaps/2], s.diffs[:]
	}
	s.unfold()
	return s.sums[:], s.sums[:]
}

// fold adds and subtracts the samples that lie opposite each other about the
// middle of a frame. Row 0 holds the middle itself, which has no opposite and
// which the odd filters don't see.
func (s *Silero) fold() {
	const half = filterTaps / 2
	for t := range frames {
		frame := s.samples[t*hop:][:filterTaps]
		s.sums[0][t], s.diffs[0][t] = frame[half], 0
		for n := 1; n < half; n++ {
			s.sums[n][t] = frame[n] + frame[filterTaps-n]
			s.diffs[n][t] = frame[n] - frame[filterTaps-n]
		}
	}
}

// unfold lays the frames beside each other as they are, for filters that are
// not symmetric.
func (s *Silero) unfold() {
	for t := range frames {
		for n, x := range s.samples[t*hop:][:filterTaps] {
			s.sums[n][t] = x
		}
	}
}

func magnitudes(out, re, im *[frames]float32) {
	for t := range out {
		out[t] = float32(math.Sqrt(float64(re[t]*re[t] + im[t]*im[t])))
	}
}

// convolve runs the four convolutions. Their strides take four frames to two,
// then to one, and what only padding would feed is left out.
func (s *Silero) convolve() {
	for o := 0; o < wide; o += 2 {
		convPair((*[2][frames]float32)(s.hidden1[o:]), s.w.conv1[o/2*bins:][:bins], s.bins[:], s.w.bias1[o:])
	}
	for o := 0; o < narrow; o += 4 {
		convQuad((*[4][2]float32)(s.hidden2[o:]), s.w.conv2[o/4*wide:][:wide], s.hidden1[:], s.w.bias2[o:])
	}
	denseRelu(s.hidden3[:], s.w.conv3, s.hidden2[:], s.w.bias3)
	denseRelu(s.joint[:wide/2], s.w.conv4, s.hidden3[:], s.w.bias4)
}

// remember moves the LSTM by one step. Its output is kept aside until every
// cell has read the last one.
func (s *Silero) remember() {
	for c := range s.cell {
		g := dense4(s.w.lstm[c*wide:][:wide], s.joint[:], s.w.biasLSTM[c*gates:])
		s.cell[c] = sigmoid(g[1])*s.cell[c] + sigmoid(g[0])*tanh(g[2])
		s.output[c/2][c%2] = sigmoid(g[3]) * tanh(s.cell[c])
	}
	copy(s.joint[wide/2:], s.output[:])
}

// decide weighs what the LSTM says.
func (s *Silero) decide() float32 {
	sum := s.w.finalBias
	for c, weight := range s.w.final {
		sum += weight * max(0, s.output[c/2][c%2])
	}
	return sigmoid(sum)
}
