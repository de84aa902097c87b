package vad_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// layer is a tensor of the naive network: its shape and its numbers.
type layer struct {
	shape  []int
	values []float32
}

// network is Silero's network by the names of its file.
type network map[string]layer

// order is the order of the tensors in a file.
var order = []string{
	"stft_conv.weight", "conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
	"conv3.weight", "conv3.bias", "conv4.weight", "conv4.bias", "lstm_cell.weight_ih",
	"lstm_cell.weight_hh", "lstm_cell.bias_ih", "lstm_cell.bias_hh", "final_conv.weight", "final_conv.bias",
}

var shapes = map[string][]int{
	"stft_conv.weight": {258, 1, 256},
	"conv1.weight":     {128, 129, 3}, "conv1.bias": {128},
	"conv2.weight": {64, 128, 3}, "conv2.bias": {64},
	"conv3.weight": {64, 64, 3}, "conv3.bias": {64},
	"conv4.weight": {128, 64, 3}, "conv4.bias": {128},
	"lstm_cell.weight_ih": {512, 128}, "lstm_cell.weight_hh": {512, 128},
	"lstm_cell.bias_ih": {512}, "lstm_cell.bias_hh": {512},
	"final_conv.weight": {1, 128, 1}, "final_conv.bias": {1},
}

// randomNetwork has small seeded numbers, scaled so that no layer saturates.
func randomNetwork(seed uint64) network {
	random := rand.New(rand.NewPCG(seed, 1))
	net := network{}
	for _, name := range order {
		shape := shapes[name]
		count, fanIn := 1, 1
		for i, n := range shape {
			count *= n
			if i > 0 {
				fanIn *= n
			}
		}
		values := make([]float32, count)
		for i := range values {
			values[i] = float32(random.NormFloat64() / math.Sqrt(float64(fanIn)))
		}
		net[name] = layer{shape, values}
	}
	return net
}

// withFourier gives the network a windowed Fourier transform, mirrored exactly.
func (net network) withFourier() network {
	values := net["stft_conv.weight"].values
	for k := range 129 {
		for n := range 129 {
			hann := 0.5 - 0.5*math.Cos(2*math.Pi*float64(n)/256)
			angle := 2 * math.Pi * float64(k*n%256) / 256
			re, im := float32(hann*math.Cos(angle)), float32(-hann*math.Sin(angle))
			if n == 128 {
				im = 0
			}
			values[k*256+n], values[(129+k)*256+n] = re, im
			if n > 0 {
				values[k*256+256-n], values[(129+k)*256+256-n] = re, -im
			}
		}
		values[(129+k)*256+128] = 0
	}
	return net
}

// bytes is the network as a safetensors file; change may spoil the header.
func (net network) bytes(tb testing.TB, change func(header map[string]map[string]any)) []byte {
	tb.Helper()
	header := map[string]map[string]any{}
	var data bytes.Buffer
	for _, name := range order {
		begin := data.Len()
		if err := binary.Write(&data, binary.LittleEndian, net[name].values); err != nil {
			tb.Fatal(err)
		}
		header[name] = map[string]any{"dtype": "F32", "shape": net[name].shape, "data_offsets": []int{begin, data.Len()}}
	}
	if change != nil {
		change(header)
	}
	encoded, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return safetensors(string(encoded), data.Bytes())
}

// safetensors puts a file together from its parts.
func safetensors(header string, data []byte) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), data...)
}

// write puts a file into a folder of the test's own.
func write(tb testing.TB, file []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "weights.safetensors")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// naive is the network written for reading, in float64, straight from its
// description: the oracle of the fast one.
type naive struct {
	net          network
	before, h, c []float64
}

func newNaive(net network) *naive {
	return &naive{net: net, before: make([]float64, 64), h: make([]float64, 128), c: make([]float64, 128)}
}

func (n *naive) probability(window []float32) float64 {
	x := append([]float64(nil), n.before...)
	for _, s := range window {
		x = append(x, float64(s))
	}
	n.before = append([]float64(nil), x[len(x)-64:]...)
	for i, last := 0, len(x)-1; i < 64; i++ {
		x = append(x, x[last-1-i])
	}
	spectrum := n.conv("stft_conv", [][]float64{x}, 128, 0)
	magnitude := make([][]float64, 129)
	for k := range magnitude {
		for t := range spectrum[k] {
			magnitude[k] = append(magnitude[k], math.Hypot(spectrum[k][t], spectrum[129+k][t]))
		}
	}
	y := rectified(n.conv("conv1", magnitude, 1, 1))
	y = rectified(n.conv("conv2", y, 2, 1))
	y = rectified(n.conv("conv3", y, 2, 1))
	y = rectified(n.conv("conv4", y, 1, 1))
	n.step(y)
	hidden := make([][]float64, 128)
	for i, v := range n.h {
		hidden[i] = []float64{v}
	}
	return logistic(n.conv("final_conv", rectified(hidden), 1, 0)[0][0])
}

// conv is a convolution over time; x is channels by time.
func (n *naive) conv(name string, x [][]float64, stride, padding int) [][]float64 {
	weight, bias := n.net[name+".weight"], n.net[name+".bias"].values
	inputs, width := weight.shape[1], weight.shape[2]
	out := make([][]float64, weight.shape[0])
	for o := range out {
		for start := -padding; start+width <= len(x[0])+padding; start += stride {
			var sum float64
			if bias != nil {
				sum = float64(bias[o])
			}
			for i := range inputs {
				for k := range width {
					if at := start + k; at >= 0 && at < len(x[i]) {
						sum += float64(weight.values[(o*inputs+i)*width+k]) * x[i][at]
					}
				}
			}
			out[o] = append(out[o], sum)
		}
	}
	return out
}

// step is one step of an LSTM cell, gates in the order i, f, g, o.
func (n *naive) step(x [][]float64) {
	var gate [512]float64
	for r := range gate {
		gate[r] = float64(n.net["lstm_cell.bias_ih"].values[r]) + float64(n.net["lstm_cell.bias_hh"].values[r])
		for i := range 128 {
			gate[r] += float64(n.net["lstm_cell.weight_ih"].values[r*128+i]) * x[i][0]
			gate[r] += float64(n.net["lstm_cell.weight_hh"].values[r*128+i]) * n.h[i]
		}
	}
	for i := range 128 {
		n.c[i] = logistic(gate[128+i])*n.c[i] + logistic(gate[i])*math.Tanh(gate[256+i])
	}
	for i := range 128 {
		n.h[i] = logistic(gate[384+i]) * math.Tanh(n.c[i])
	}
}

func rectified(x [][]float64) [][]float64 {
	for _, row := range x {
		for t := range row {
			row[t] = max(0, row[t])
		}
	}
	return x
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
