// Package voyage embeds over Voyage AI's embeddings, which tell a question from a
// document. It owns what a request says and the vendor's limits; package remote
// does the rest, and says how it fails.
package voyage

import (
	"context"

	"go.uber.org/zap"

	"headstart/retrieval/embed/remote"
)

// DefaultBaseURL is Voyage's own.
const DefaultBaseURL = "https://api.voyageai.com/v1"

// Config says which server and model are asked.
type Config = remote.Config

// vendor holds Voyage's limits: 1000 texts a request, and the 120,000 tokens of
// its strictest models, since they differ. A text that is longer than a model
// reads is cut at the server, which knows where.
var vendor = remote.Vendor{
	Name: "voyage", BaseURL: DefaultBaseURL, Dimensions: "output_dimension",
	Document: map[string]any{"input_type": "document", "truncation": true, "encoding_format": "base64"},
	Query:    map[string]any{"input_type": "query", "truncation": true, "encoding_format": "base64"},
	Inputs:   1000, Tokens: 120_000, Each: 32_000,
}

// Open makes an embedder named "voyage/<model>"; see remote.Open.
func Open(ctx context.Context, cfg Config, log *zap.Logger) (*remote.Embedder, error) {
	return remote.Open(ctx, vendor, cfg, log)
}
