// Package openai embeds over OpenAI's embeddings; many other servers speak the
// same. It owns what a request says and the vendor's limits; package remote does
// the rest, and says how it fails.
package openai

import (
	"context"

	"go.uber.org/zap"

	"headstart/retrieval/embed/remote"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which server and model are asked.
type Config = remote.Config

// vendor holds OpenAI's limits: 2048 texts and 300,000 tokens a request, 8192
// tokens a text. Base64 is a third of the numbers' size.
var vendor = remote.Vendor{
	Name: "openai", BaseURL: DefaultBaseURL, Dimensions: "dimensions",
	Document: map[string]any{"encoding_format": "base64"},
	Query:    map[string]any{"encoding_format": "base64"},
	Inputs:   2048, Tokens: 300_000, Each: 8192,
}

// Open makes an embedder named "openai/<model>"; see remote.Open.
func Open(ctx context.Context, cfg Config, log *zap.Logger) (*remote.Embedder, error) {
	return remote.Open(ctx, vendor, cfg, log)
}
