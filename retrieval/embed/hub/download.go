package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// stall is how long a server may send nothing before it is given up.
const stall = 30 * time.Second

// StallError tells that a server fell silent.
type StallError struct {
	URL   string
	After time.Duration
}

// Error implements error.
func (e *StallError) Error() string { return fmt.Sprintf("%s sent nothing for %s", e.URL, e.After) }

// StatusError tells that a server refused.
type StatusError struct {
	URL  string
	Code int // the HTTP status
}

// Error implements error.
func (e *StatusError) Error() string {
	hint := ""
	if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
		hint = ": is the name right, and the model public?"
	}
	return fmt.Sprintf("%s answered %d %s%s", e.URL, e.Code, http.StatusText(e.Code), hint)
}

// transfer is the download of one file.
type transfer struct {
	url  string
	part *os.File
	tag  string // what the server calls the version that is in part
	done int64
	told func(done, total int64)
}

// download brings a file of the model into part and returns its SHA-256. Where
// the hub told one, another is refused.
func (p *pull) download(ctx context.Context, file, part string) (string, error) {
	address, err := url.JoinPath(p.cfg.Base, p.name, "resolve", p.cfg.Revision, file)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		return "", err
	}
	t := &transfer{url: address, told: func(done, total int64) { p.cfg.Progress(file, done, total) }}
	promised, err := t.into(ctx, p.cfg.Client, part)
	if err != nil {
		return "", err
	}
	sum, err := sumOf(part)
	if err == nil && promised != "" && promised != sum {
		err = fmt.Errorf("%s came with sha256 %s, the hub promised %s: pull again", address, sum, promised)
		err = errors.Join(err, os.Remove(part))
	}
	return sum, errors.Join(err, ignoreAbsent(os.Remove(part+".tag")))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// into writes what is missing of the file. It returns the hash that the hub
// told, if it did.
func (t *transfer) into(ctx context.Context, client *http.Client, path string) (promised string, err error) {
	if t.part, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.part.Close()) }()
	if err := t.resume(path); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(stall, func() { cancel(&StallError{URL: t.url, After: stall}) })
	defer alarm.Stop()
	res, err := t.ask(ctx, client)
	if err == nil && res.StatusCode == http.StatusRequestedRangeNotSatisfiable { // what is in is longer than the file
		t.done = 0
		err = res.Body.Close()
		if err == nil {
			res, err = t.ask(ctx, client)
		}
	}
	if err != nil {
		return "", because(ctx, err)
	}
	defer res.Body.Close()
	if err := t.begin(res, path); err != nil {
		return "", errors.Join(err, t.forget(path))
	}
	if err := t.receive(res, func() { alarm.Reset(stall) }); err != nil {
		return "", fmt.Errorf("%d bytes are kept, pull again to resume: %w", t.done, because(ctx, err))
	}
	return promise(res), t.part.Sync()
}

// resume finds out how much is in, and of which version.
func (t *transfer) resume(path string) error {
	size, err := t.part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tag, err := os.ReadFile(path + ".tag")
	if err == nil && len(tag) > 0 {
		t.tag, t.done = string(tag), size
	}
	return ignoreAbsent(err)
}

func (t *transfer) ask(ctx context.Context, client *http.Client) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // lengths and ranges are of the file itself
	if t.done > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.done))
		req.Header.Set("If-Range", t.tag) // of another version all is sent
	}
	return client.Do(req)
}

// begin takes an answer that goes on where the part ends, or is the whole file.
func (t *transfer) begin(res *http.Response, path string) error {
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errAbsent
	case res.StatusCode == http.StatusPartialContent && t.done > 0 && strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.done)):
		return nil
	case res.StatusCode != http.StatusOK:
		return &StatusError{URL: t.url, Code: res.StatusCode}
	}
	t.done = 0
	if err := t.part.Truncate(0); err != nil {
		return err
	}
	if _, err := t.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	tag := res.Header.Get("ETag")
	if strings.HasPrefix(tag, "W/") {
		tag = "" // a weak one does not promise the same bytes
	}
	return os.WriteFile(path+".tag", []byte(tag), 0o644)
}

// forget removes a part that holds nothing, so that what is refused leaves
// nothing behind.
func (t *transfer) forget(path string) error {
	if t.done > 0 {
		return nil
	}
	return errors.Join(ignoreAbsent(os.Remove(path)), ignoreAbsent(os.Remove(path+".tag")))
}

func (t *transfer) receive(res *http.Response, alive func()) error {
	total := int64(-1)
	if res.ContentLength >= 0 {
		total = t.done + res.ContentLength
	}
	t.told(t.done, total)
	buf := make([]byte, 256<<10)
	for {
		n, err := res.Body.Read(buf)
		if n > 0 {
			alive()
			if _, err := t.part.Write(buf[:n]); err != nil {
				return err
			}
			t.done += int64(n)
			t.told(t.done, total)
		}
		if errors.Is(err, io.EOF) {
			return nil // a body that ends early gives io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}

// hash is a SHA-256, as the hub tells it of large files.
var hash = regexp.MustCompile(`^"?([0-9a-f]{64})"?$`)

// promise is the hash that the hub told before it sent us to where the file is.
func promise(res *http.Response) string {
	for ; res != nil; res = res.Request.Response {
		if m := hash.FindStringSubmatch(res.Header.Get("X-Linked-Etag")); m != nil {
			return m[1]
		}
	}
	return ""
}

// because adds why the context ended to an error that came of it.
func because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
