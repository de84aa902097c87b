package onnx

import (
	"errors"
	"fmt"
	"slices"
)

// outputs are those of a graph that tell of texts, the best first: what is told
// of each token is pooled as the folder says.
var outputs = []string{"last_hidden_state", "token_embeddings", "sentence_embedding"}

// choose is the output that is read: the first, if none has a known name.
func choose(names []string) (int, error) {
	if len(names) == 0 {
		return 0, errors.New("read graph: it has no output")
	}
	for _, name := range outputs {
		if i := slices.Index(names, name); i >= 0 {
			return i, nil
		}
	}
	return 0, nil
}

// joined adds what went wrong when a run was tidied up.
func joined(err, tidying error) error {
	if tidying == nil {
		return err
	}
	return errors.Join(err, fmt.Errorf("tidy up after a run: %w", tidying))
}
