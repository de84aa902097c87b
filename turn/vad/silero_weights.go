package vad

import (
	"fmt"
	"io"
	"os"
)

// The shape of Silero's 16 kHz network, as its publisher's file has it.
const (
	contextSamples = 64 // carried over from the window before
	reflected      = 64 // mirrored at the right end
	paddedSamples  = contextSamples + WindowSamples + reflected
	filterTaps     = 256 // samples under one filter of the transform
	hop            = 128 // samples from one frame of the transform to the next
	frames         = (paddedSamples-filterTaps)/hop + 1
	bins           = filterTaps/2 + 1
	wide           = 128 // channels after conv1 and conv4, and the LSTM's cells
	narrow         = 64  // channels after conv2 and conv3
	kernel         = 3
	gates          = 4 // of the LSTM: input, forget, cell, output
)

// maxWeights bounds the file that Load reads, in bytes: fifty times what the
// publisher's file has.
const maxWeights = 64 << 20

// Weights are Silero's trained numbers, laid out in the order in which the
// engine reads them. They never change, so any number of engines share them.
type Weights struct {
	folded     bool         // the transform's filters are symmetric: half of them is kept
	realPart   [][2]float32 // two filters beside each other, all taps, then the next two
	imagPart   [][2]float32
	conv1      [][6]float32  // two outputs, three taps each, by input
	conv2      [][12]float32 // four outputs, three taps each, by input
	conv3      [][8]float32  // four outputs, by two inputs; so for all below
	conv4      [][8]float32
	lstm       [][8]float32 // the four gates of a cell, by two inputs
	bias1      []float32
	bias2      []float32
	bias3      []float32
	bias4      []float32
	biasLSTM   []float32 // the four gates of a cell, then the next cell
	final      []float32
	finalBias  float32
	filterRows int // taps kept of each filter
}

// Load reads the weights from the safetensors file that Silero's publisher
// has (about 1.2 MB). Its error names the file, and the tensor if one is wrong.
func Load(path string) (*Weights, error) {
	file, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("load vad weights: %w", err)
	}
	all, err := parseSafetensors(file)
	if err != nil {
		return nil, fmt.Errorf("load vad weights %s: %w", path, err)
	}
	w, err := pack(all)
	if err != nil {
		return nil, fmt.Errorf("load vad weights %s: %w", path, err)
	}
	return w, nil
}

// readFile reads at most maxWeights, so that a wrong path fills no memory.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, maxWeights+1))
	if err != nil {
		return nil, err
	}
	if len(file) > maxWeights {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxWeights)
	}
	return file, nil
}

// shelf hands out tensors and keeps the first complaint.
type shelf struct {
	all tensors
	err error
}

func (s *shelf) take(name string, shape ...int) []float32 {
	if s.err != nil {
		return nil
	}
	values, err := s.all.float32s(name, shape...)
	s.err = err
	return values
}

// pack checks every tensor and lays it out for the engine.
func pack(all tensors) (*Weights, error) {
	s := &shelf{all: all}
	stft := s.take("stft_conv.weight", 2*bins, 1, filterTaps)
	conv1, bias1 := s.take("conv1.weight", wide, bins, kernel), s.take("conv1.bias", wide)
	conv2, bias2 := s.take("conv2.weight", narrow, wide, kernel), s.take("conv2.bias", narrow)
	conv3, bias3 := s.take("conv3.weight", narrow, narrow, kernel), s.take("conv3.bias", narrow)
	conv4, bias4 := s.take("conv4.weight", wide, narrow, kernel), s.take("conv4.bias", wide)
	input, hidden := s.take("lstm_cell.weight_ih", gates*wide, wide), s.take("lstm_cell.weight_hh", gates*wide, wide)
	biasIn, biasHid := s.take("lstm_cell.bias_ih", gates*wide), s.take("lstm_cell.bias_hh", gates*wide)
	final, finalBias := s.take("final_conv.weight", 1, wide, 1), s.take("final_conv.bias", 1)
	if s.err != nil {
		return nil, s.err
	}
	w := &Weights{
		conv1: packPairs(conv1), bias1: bias1,
		conv2: packQuads(conv2), bias2: bias2,
		conv3: packDense(narrow, 2*narrow, func(o, i int) float32 { return conv3[(o*narrow+i/2)*kernel+1+i%2] }), bias3: bias3,
		conv4: packDense(wide, narrow, func(o, i int) float32 { return conv4[(o*narrow+i)*kernel+1] }), bias4: bias4,
		lstm:     packDense(gates*wide, 2*wide, lstmAt(input, hidden)),
		biasLSTM: packGates(biasIn, biasHid),
		final:    final, finalBias: finalBias[0],
	}
	w.packFilters(stft)
	return w, nil
}

// packFilters keeps half of each filter when that loses nothing: a real one
// that mirrors itself about its middle gives the same on sums of mirrored
// samples, an imaginary one on their differences.
func (w *Weights) packFilters(stft []float32) {
	re, im := stft[:bins*filterTaps], stft[bins*filterTaps:]
	w.folded = mirrored(re, 1) && mirrored(im, -1)
	w.filterRows = filterTaps
	if w.folded {
		w.filterRows = filterTaps / 2
	}
	w.realPart, w.imagPart = w.packPart(re), w.packPart(im)
}

// mirrored tells whether in every filter tap n is sign times tap 256-n, and
// tap 0, which has no mirror image, is zero.
func mirrored(filters []float32, sign float32) bool {
	for ; len(filters) > 0; filters = filters[filterTaps:] {
		if filters[0] != 0 {
			return false
		}
		for n := 1; n <= filterTaps/2; n++ {
			if filters[n] != sign*filters[filterTaps-n] {
				return false
			}
		}
	}
	return true
}

// packPart lays filters two by two. They are odd in number: zeros follow the last.
func (w *Weights) packPart(filters []float32) [][2]float32 {
	packed := make([][2]float32, (bins+1)/2*w.filterRows)
	for k := range bins {
		for n := range w.filterRows {
			packed[k/2*w.filterRows+n][k%2] = filters[k*filterTaps+w.tapAt(n)]
		}
	}
	return packed
}

// tapAt is the tap that meets row n of the transform's input; see Silero.fold.
func (w *Weights) tapAt(n int) int {
	if w.folded && n == 0 {
		return filterTaps / 2
	}
	return n
}

func packPairs(conv []float32) [][6]float32 {
	packed := make([][6]float32, wide/2*bins)
	for o := range wide {
		for i := range bins {
			copy(packed[o/2*bins+i][o%2*kernel:], conv[(o*bins+i)*kernel:][:kernel])
		}
	}
	return packed
}

func packQuads(conv []float32) [][12]float32 {
	packed := make([][12]float32, narrow/4*wide)
	for o := range narrow {
		for i := range wide {
			copy(packed[o/4*wide+i][o%4*kernel:], conv[(o*wide+i)*kernel:][:kernel])
		}
	}
	return packed
}

// packDense lays a matrix out in blocks of four outputs by two inputs.
func packDense(outputs, inputs int, at func(o, i int) float32) [][8]float32 {
	packed := make([][8]float32, outputs/4*inputs/2)
	for o := range outputs {
		for i := range inputs {
			packed[o/4*inputs/2+i/2][i%2*4+o%4] = at(o, i)
		}
	}
	return packed
}

// lstmAt joins the two matrices of the LSTM side by side and brings the gates
// of a cell together: output o is gate o%4 of cell o/4.
func lstmAt(input, hidden []float32) func(o, i int) float32 {
	return func(o, i int) float32 {
		row := o%gates*wide + o/gates
		if i < wide {
			return input[row*wide+i]
		}
		return hidden[row*wide+i-wide]
	}
}

func packGates(a, b []float32) []float32 {
	packed := make([]float32, gates*wide)
	for o := range packed {
		row := o%gates*wide + o/gates
		packed[o] = a[row] + b[row]
	}
	return packed
}
