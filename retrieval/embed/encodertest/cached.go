package encodertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// largestAnswer is some way above that of the largest request.
const largestAnswer = 64 << 20

// cached stands before an encoder and keeps what it gives, each text's vector in a
// file of its own: tests of several processes read and write side by side. It
// answers in base64, as our client asks.
type cached struct {
	folder  string
	encoder string // http://127.0.0.1:port
	client  http.Client
}

// vector is a text's, in base64 of little-endian float32.
type vector = string

// ServeHTTP implements http.Handler.
func (c *cached) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	vectors, err := c.vectors(r.Context(), asked.Input)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	type datum struct {
		Index     int    `json:"index"`
		Embedding vector `json:"embedding"`
	}
	data := make([]datum, len(vectors))
	for i, v := range vectors {
		data[i] = datum{i, v}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": asked.Model, "data": data}) // the client has gone
}

// vectors reads those that are kept, and asks for the others in one request.
func (c *cached) vectors(ctx context.Context, texts []string) ([]vector, error) {
	vectors := make([]vector, len(texts))
	var lacking []string
	var places []int
	for i, text := range texts {
		kept, err := os.ReadFile(c.file(text))
		if err != nil || len(kept) == 0 { // whatever it is, the encoder knows better
			lacking, places = append(lacking, text), append(places, i)
			continue
		}
		vectors[i] = string(kept)
	}
	if len(lacking) == 0 {
		return vectors, nil
	}
	given, err := ask(ctx, &c.client, c.encoder, lacking)
	if err != nil {
		return nil, err
	}
	for i, v := range given {
		vectors[places[i]] = v
		if err := c.keep(lacking[i], v); err != nil {
			return nil, fmt.Errorf("keep vector: %w", err)
		}
	}
	return vectors, nil
}

func (c *cached) file(text string) string {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return filepath.Join(c.folder, name[:2], name[2:])
}

// keep writes beside the file and renames, so that half of a vector is never read.
func (c *cached) keep(text string, v vector) (err error) {
	file := c.file(text)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	half, err := os.CreateTemp(filepath.Dir(file), "half-")
	if err != nil {
		return err
	}
	_, err = half.WriteString(v)
	if err = errors.Join(err, half.Close()); err == nil {
		err = os.Rename(half.Name(), file)
	}
	if err != nil {
		_ = os.Remove(half.Name()) // what went wrong first is told
	}
	return err
}

// ask asks an encoder for vectors, and takes an answer only whole.
func ask(ctx context.Context, client *http.Client, encoder string, texts []string) ([]vector, error) {
	body, _ := json.Marshal(map[string]any{"input": texts, "encoding_format": "base64"}) // strings always marshal
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, encoder+"/v1/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask encoder: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask encoder: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, largestAnswer))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask encoder: %s: %.200s: %w", res.Status, text, errors.Join(err, errAnswer))
	}
	return readAnswer(text, len(texts))
}

// errAnswer means that what came is no list of vectors.
var errAnswer = errors.New("no answer with a vector for each text")

func readAnswer(text []byte, texts int) ([]vector, error) {
	var answer struct {
		Data []struct {
			Index     int    `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	vectors := make([]vector, texts)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= texts || len(d.Embedding) == 0 {
			return nil, errAnswer
		}
		vectors[d.Index] = d.Embedding
	}
	if slices.Contains(vectors, "") {
		return nil, errAnswer
	}
	return vectors, nil
}
