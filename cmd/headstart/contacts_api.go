package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1 "headstart/worker/api/v1"
	"headstart/worker/contacts"
)

// forgetPatience is how long an erasure may take elsewhere.
const forgetPatience = 70 * time.Second

// send asks for a change, and reads the answer when into is not nil.
func (e elsewhere) send(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, forgetPatience, fmt.Errorf("no answer within %s", forgetPatience))
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(e.base, "/")+path, bytes.NewReader(text))
	if err != nil {
		return usageError{fmt.Errorf("--api %s: %w", e.base, err)}
	}
	r.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		r.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask the api: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		refused := &refusedError{Status: resp.StatusCode}
		_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(refused) // what is no JSON has no sentence
		return refused
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the api's answer: %w", err)
	}
	return nil
}

func contactPath(contact string, more ...string) string {
	var path strings.Builder
	path.WriteString("/v1/contacts/" + url.PathEscape(contact))
	for _, part := range more {
		path.WriteString("/" + url.PathEscape(part))
	}
	return path.String()
}

func (e elsewhere) memory(ctx context.Context, contact string) (m v1.Memory, err error) {
	err = e.get(ctx, contactPath(contact, "memory"), &m)
	return m, err
}

func (e elsewhere) correct(ctx context.Context, contact, fact, text string) (f v1.Fact, err error) {
	err = e.send(ctx, http.MethodPut, contactPath(contact, "memory", fact), map[string]string{"text": text}, &f)
	return f, err
}

func (e elsewhere) remove(ctx context.Context, contact, fact string) error {
	return e.send(ctx, http.MethodDelete, contactPath(contact, "memory", fact), nil, nil)
}

func (e elsewhere) forget(ctx context.Context, contact string) (r contacts.Receipt, err error) {
	err = e.send(ctx, http.MethodDelete, contactPath(contact), nil, &r)
	return r, err
}
