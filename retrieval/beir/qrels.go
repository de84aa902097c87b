package beir

import (
	"fmt"
	"strconv"
	"strings"
)

// Qrels are the judgements of a collection: by query, then by document, how
// relevant it is. Above 0 is relevant; a document that is not there is not.
type Qrels map[string]map[string]int

// ReadQrels reads qrels/test.tsv. The first line may be the names of the columns.
func ReadQrels(dir string) (Qrels, error) {
	judged := make(Qrels)
	for l, err := range lines(dir, QrelsFile) {
		if err != nil {
			return nil, err
		}
		if err := judged.read(l); err != nil {
			return nil, err
		}
	}
	return judged, nil
}

func (q Qrels) read(l line) error {
	columns := strings.Split(strings.TrimRight(string(l.text), "\r\n"), "\t")
	if len(columns) != 3 || columns[0] == "" || columns[1] == "" {
		return l.wrong(ErrNotThree)
	}
	score, err := strconv.Atoi(strings.TrimSpace(columns[2]))
	switch {
	case err != nil && l.n == 1:
		return nil // the names of the columns
	case err != nil:
		return l.wrong(fmt.Errorf("score %q is no whole number", columns[2]))
	}
	query, document := columns[0], columns[1]
	if _, again := q[query][document]; again {
		return l.wrong(fmt.Errorf("query %s, document %s: %w", query, document, ErrTwice))
	}
	if q[query] == nil {
		q[query] = make(map[string]int)
	}
	q[query][document] = score
	return nil
}
