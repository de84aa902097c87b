package retrieval

import "slices"

// counting ranks a few chunks among all, by looking at each of those once.
type counting struct {
	few    []ranking
	scores []float64 // of few, side by side: most chunks tie with none
	ahead  []int     // chunks that come before few[i] and not before few[i-1]
}

// ranking is a chunk whose rank is counted, and where that is written.
type ranking struct {
	candidate
	rank *int
}

func (c *counting) begin() {
	slices.SortFunc(c.few, func(a, b ranking) int { return better(a.candidate, b.candidate) })
	c.scores = make([]float64, len(c.few))
	for i, one := range c.few {
		c.scores[i] = one.score
	}
	c.ahead = make([]int, len(c.few)+1)
}

// behind is the first of the few that a score does not fall short of.
func (c *counting) behind(score float64) int {
	from, to := 0, len(c.scores)
	for from < to {
		if mid := (from + to) / 2; c.scores[mid] > score {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// see counts one chunk.
func (c *counting) see(seg *Segment, doc int32, score float64) {
	i := c.behind(score)
	for i < len(c.few) && c.scores[i] == score && c.few[i].id <= seg.chunks[doc].ID {
		i++
	}
	c.ahead[i]++
}

// end writes the ranks down, from 1.
func (c *counting) end() {
	rank := 1
	for i, one := range c.few {
		rank += c.ahead[i]
		*one.rank = rank
	}
}
