package worker

import (
	"time"

	"headstart/retrieval"
)

// RerankConfig is which model judges what a search found, and when.
type RerankConfig struct {
	ModelConfig `yaml:",inline"`

	Pool     int  `yaml:"pool"`      // the best so many are judged; 30 when absent
	WithinMS int  `yaml:"within_ms"` // how long it may take; 1000 when absent
	Spoken   bool `yaml:"spoken"`    // on spoken turns too, inside their budget
}

// Reranking is when and how far the agent's searches are judged once more.
func (a Agent) Reranking() retrieval.Reranking {
	if a.Rerank == nil {
		return retrieval.Reranking{}
	}
	return a.Rerank.reranking(a.Docs)
}

func (r RerankConfig) reranking(docs Docs) retrieval.Reranking {
	how := retrieval.Reranking{Pool: r.Pool, Within: time.Duration(r.WithinMS) * time.Millisecond, Spoken: r.Spoken}
	for _, d := range docs {
		k := d.K
		if k == 0 {
			k = retrieval.DefaultK
		}
		how.K = max(how.K, k)
	}
	return how
}
