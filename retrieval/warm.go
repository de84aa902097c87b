package retrieval

import "context"

// Warm has the embedder open its connection before a question needs it, if it
// has one to open. It embeds nothing.
func (s *Searcher) Warm(ctx context.Context) error {
	if w, ok := s.embedder.(interface{ Warm(context.Context) error }); ok {
		return w.Warm(ctx)
	}
	return nil
}
