package onnx

import "fmt"

// pool makes one vector of what a graph gave of each text's tokens. A graph that
// pools by itself gave a vector a text; what fills the batch is left out.
func pool(how string, values []float32, shape []int, ids [][]int) ([][]float32, error) {
	room := 1
	for _, n := range shape {
		room *= n
	}
	texts, dim := len(ids), shape[max(0, len(shape)-1)]
	if len(shape) < 2 || len(shape) > 3 || shape[0] < texts || dim < 1 || room != len(values) {
		return nil, fmt.Errorf("%d numbers of the shape %v for %d texts", len(values), shape, texts)
	}
	vectors := make([][]float32, texts)
	for i := range vectors {
		if len(shape) == 2 {
			vectors[i] = append([]float32(nil), values[i*dim:(i+1)*dim]...)
			continue
		}
		if len(ids[i]) > shape[1] {
			return nil, fmt.Errorf("the shape %v for a text of %d tokens", shape, len(ids[i]))
		}
		from := i * shape[1] * dim
		vectors[i] = poolTokens(how, values[from:from+len(ids[i])*dim], dim)
	}
	return vectors, nil
}

// poolTokens makes one vector of those of the tokens of a text.
func poolTokens(how string, values []float32, dim int) []float32 {
	last := len(values) - dim
	switch how {
	case "cls":
		return append([]float32(nil), values[:dim]...)
	case "last":
		return append([]float32(nil), values[last:]...)
	}
	v := append([]float32(nil), values[:dim]...)
	for at := dim; at < len(values); at += dim {
		for k, x := range values[at : at+dim] {
			if how == "max" {
				v[k] = max(v[k], x)
			} else {
				v[k] += x // their sum has the direction of their mean
			}
		}
	}
	return v
}
