package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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
func (e *StallError) Error() string {
	return fmt.Sprintf("%s sent nothing for %s", e.URL, e.After)
}

// StatusError tells that a server refused.
type StatusError struct {
	URL  string
	Code int // the HTTP status
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Pull downloads the model into the folder, making it if need be, and returns
// where it lies. What is there already is left as it is when its hash fits. A
// download that was broken off is resumed, or begun again if the server won't.
//
// progress may be nil; it is called from this goroutine with the bytes that
// are in and the bytes of the whole. One Pull of a model into a folder may run
// at a time: two would spoil each other's bytes, which the hash then refuses.
func Pull(ctx context.Context, client *http.Client, m Model, dir string, progress func(done, total int64)) (string, error) {
	if err := m.Validate(); err != nil {
		return "", fmt.Errorf("pull %s: %w", m.Name, err)
	}
	path := Path(dir, m)
	if Verify(path, m) == nil {
		return path, nil
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	d := &download{client: client, model: m, part: path + ".part", progress: progress}
	if err := d.run(ctx, dir, path); err != nil {
		return "", fmt.Errorf("pull %s: %w", m.Name, err)
	}
	return path, nil
}

// download is one Pull at work.
type download struct {
	client   *http.Client
	model    Model
	part     string // where the bytes gather
	progress func(done, total int64)
	done     int64
}

func (d *download) run(ctx context.Context, dir, path string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := d.fetch(ctx); err != nil {
		return err
	}
	err := Verify(d.part, d.model)
	if wrong := (*HashError)(nil); errors.As(err, &wrong) {
		return errors.Join(err, os.Remove(d.part)) // kept, it would be wrong for ever
	}
	if err != nil {
		return err
	}
	return os.Rename(d.part, path)
}

// fetch brings the part to its full size.
func (d *download) fetch(ctx context.Context) (err error) {
	out, err := os.OpenFile(d.part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if d.done, err = out.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if d.done > d.model.Size {
		if err := d.restart(out); err != nil {
			return err
		}
	}
	if d.done == d.model.Size {
		return nil
	}
	if err := d.request(ctx, out); err != nil {
		return err
	}
	return out.Sync()
}

// restart forgets what is in.
func (d *download) restart(out *os.File) error {
	if err := out.Truncate(0); err != nil {
		return err
	}
	_, err := out.Seek(0, io.SeekStart)
	d.done = 0
	return err
}

// request asks for what is missing and writes it behind what is in.
func (d *download) request(ctx context.Context, out *os.File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(stall, func() { cancel(&StallError{URL: d.model.URL, After: stall}) })
	defer alarm.Stop()

	resp, err := d.open(ctx, out)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer resp.Body.Close()
	d.progress(d.done, d.model.Size)
	if err := d.receive(out, resp.Body, func() { alarm.Reset(stall) }); err != nil {
		return causeOf(ctx, err)
	}
	return nil
}

// open finds out whether the server resumes or begins again. One that offers
// some other range has another file than the one begun, and is asked for all
// of it. One that refuses costs nothing of what is in.
func (d *download) open(ctx context.Context, out *os.File) (*http.Response, error) {
	resp, err := d.ask(ctx)
	if err != nil {
		return nil, err
	}
	if d.resumes(resp) {
		return resp, nil
	}
	if d.differs(resp) {
		if err := errors.Join(resp.Body.Close(), d.restart(out)); err != nil {
			return nil, err
		}
		if resp, err = d.ask(ctx); err != nil {
			return nil, err
		}
	}
	if err := d.whole(resp, out); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

func (d *download) ask(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.model.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // lengths and ranges are of the file itself
	if d.done > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
	}
	return d.client.Do(req)
}

func (d *download) resumes(resp *http.Response) bool {
	return d.done > 0 && resp.StatusCode == http.StatusPartialContent && resp.Header.Get("Content-Range") == d.wanted()
}

func (d *download) differs(resp *http.Response) bool {
	code := resp.StatusCode
	return d.done > 0 && (code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable)
}

// whole takes an answer only if it is the whole file, and makes room for it.
func (d *download) whole(resp *http.Response, out *os.File) error {
	if resp.StatusCode != http.StatusOK {
		return &StatusError{URL: d.model.URL, Code: resp.StatusCode}
	}
	return d.restart(out)
}

// wanted is the Content-Range of exactly what is missing.
func (d *download) wanted() string {
	return fmt.Sprintf("bytes %d-%d/%d", d.done, d.model.Size-1, d.model.Size)
}

// receive writes the body until it ends or is longer than the model. alive is
// called whenever bytes came.
func (d *download) receive(out io.Writer, body io.Reader, alive func()) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if err := d.keep(out, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && d.done == d.model.Size:
			return nil
		case errors.Is(err, io.EOF):
			return d.short(io.ErrUnexpectedEOF)
		case err != nil:
			return d.short(err)
		}
	}
}

func (d *download) keep(out io.Writer, piece []byte) error {
	if d.done+int64(len(piece)) > d.model.Size {
		return fmt.Errorf("%s sends more than the %d bytes of the model", d.model.URL, d.model.Size)
	}
	n, err := out.Write(piece)
	d.done += int64(n)
	d.progress(d.done, d.model.Size)
	return err
}

// short says how far a broken download came.
func (d *download) short(err error) error {
	return fmt.Errorf("receive: %d of %d bytes are kept in %s, pull again to resume: %w", d.done, d.model.Size, d.part, err)
}

// causeOf adds why the context ended to an error that came of it.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
