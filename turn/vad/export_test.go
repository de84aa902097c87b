package vad

// TensorNames reads a safetensors file and gives the names in it, unordered:
// the fuzz test and the tables reach the reader through it.
func TensorNames(file []byte) ([]string, error) {
	all, err := parseSafetensors(file)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	return names, err
}

// Folded tells whether the weights' transform was found symmetric.
func (w *Weights) Folded() bool { return w.folded }
