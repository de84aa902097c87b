package v1

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"headstart/retrieval/knowledge"
	"headstart/retrieval/read"
)

// The bounds of what is uploaded.
const (
	maxFolder = 1 << 30          // bytes of a folder, as it is sent and unpacked
	maxFiles  = 20_000           // files of a folder
	readPause = 30 * time.Second // between two pieces of a body
)

var (
	errTooBig  = errors.New("larger than may be uploaded")
	notArchive = refusal{http.StatusUnsupportedMediaType, "content_type", "Send the folder as application/x-tar, application/gzip (a tar in it) or application/zip."}
)

// putBase answers PUT /v1/knowledge/{base}?language=&prune= with the folder in the
// body, whole: afterwards the base holds its files and no others.
func (s *Server) putBase(w http.ResponseWriter, r *http.Request) {
	unpack, ok := unpackers[kindOf(r)]
	if !ok {
		refuse(w, notArchive)
		return
	}
	dir, err := os.MkdirTemp(s.cfg.Bases.Scratch, "headstart-push-")
	if err != nil {
		s.storeFailed(w, fmt.Errorf("make folder for an upload: %w", err))
		return
	}
	defer os.RemoveAll(dir) // what cannot be removed is in a folder for such things
	if err := unpackInto(dir, unpack, s.body(w, r, maxFolder)); err != nil {
		s.uploadFailed(w, err)
		return
	}
	push, err := s.push(r)
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	report, err := push.Dir(r.Context(), dir)
	s.tellPushed(w, report, err)
}

// putFile answers PUT /v1/knowledge/{base}/files/{path}?language= with the file as
// the body.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(s.body(w, r, read.MaxFile))
	if err != nil {
		s.uploadFailed(w, err)
		return
	}
	push, err := s.push(r)
	if err != nil {
		s.knowledgeFailed(w, err)
		return
	}
	report, err := push.File(r.Context(), r.PathValue("path"), data)
	s.tellPushed(w, report, err)
}

// uploadFailed refuses a body that could not be read.
func (s *Server) uploadFailed(w http.ResponseWriter, err error) {
	if r, ok := knowledgeRefusal(err); ok {
		refuse(w, r)
		return
	}
	refuse(w, refusal{http.StatusBadRequest, "body", fmt.Sprintf("The body could not be read: %v.", err)})
}

func kindOf(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// body is that of a request, bounded, and read for as long as it goes on coming:
// the server's own deadline is for small ones.
func (s *Server) body(w http.ResponseWriter, r *http.Request, most int64) io.Reader {
	return coming{http.MaxBytesReader(w, r.Body, most), http.NewResponseController(w)}
}

type coming struct {
	io.Reader
	control *http.ResponseController
}

func (c coming) Read(p []byte) (int, error) {
	_ = c.control.SetReadDeadline(time.Now().Add(readPause)) // what is no connection has none
	return c.Reader.Read(p)
}

// unpackers write what is in an archive with put.
var unpackers = map[string]func(body io.Reader, put func(name string, file io.Reader) error) error{
	"application/x-tar": unpackTar, "application/tar": unpackTar,
	"application/gzip": unpackGzip, "application/x-gzip": unpackGzip,
	"application/zip": unpackZip,
}

// unpackInto unpacks an archive below a folder, and nowhere else.
func unpackInto(dir string, unpack func(io.Reader, func(string, io.Reader) error) error, body io.Reader) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open folder for an upload: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	room, files := int64(maxFolder), 0
	return unpack(body, func(name string, file io.Reader) error {
		name = strings.TrimPrefix(path.Clean(name), "./")
		if err := knowledge.CheckPath(name); err != nil {
			return err
		}
		if files++; files > maxFiles {
			return errTooBig
		}
		n, err := writeFile(root, name, io.LimitReader(file, min(room, read.MaxFile)+1))
		if room -= n; room < 0 {
			err = errors.Join(err, errTooBig)
		}
		return err
	})
}

// writeFile writes no more of a file than shows that it is too large: the push
// refuses it by name then.
func writeFile(root *os.Root, name string, from io.Reader) (int64, error) {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, from)
	return n, errors.Join(err, file.Close())
}

// unpackTar takes regular files. A link in an archive names nothing that was sent.
func unpackTar(body io.Reader, put func(string, io.Reader) error) error {
	archive := tar.NewReader(body)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read tar: %w", err)
		case header.Typeflag != tar.TypeReg:
			continue
		}
		if err := put(header.Name, archive); err != nil {
			return fmt.Errorf("unpack %q: %w", header.Name, err)
		}
	}
}

func unpackGzip(body io.Reader, put func(string, io.Reader) error) error {
	packed, err := gzip.NewReader(bufio.NewReader(body))
	if err != nil {
		return fmt.Errorf("read gzip: %w", err)
	}
	return errors.Join(unpackTar(packed, put), packed.Close())
}

// unpackZip writes the archive to a file first: its list of files is at its end.
func unpackZip(body io.Reader, put func(string, io.Reader) error) (err error) {
	file, err := os.CreateTemp("", "headstart-zip-")
	if err != nil {
		return fmt.Errorf("keep zip: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	size, err := io.Copy(file, body)
	if err != nil {
		return fmt.Errorf("read zip: %w", err)
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return fmt.Errorf("read zip: %w", err)
	}
	if len(archive.File) > maxFiles {
		return errTooBig
	}
	for _, entry := range archive.File {
		if !entry.Mode().IsRegular() {
			continue
		}
		if err := unpackEntry(entry, put); err != nil {
			return fmt.Errorf("unpack %q: %w", entry.Name, err)
		}
	}
	return nil
}

func unpackEntry(entry *zip.File, put func(string, io.Reader) error) error {
	from, err := entry.Open()
	if err != nil {
		return err
	}
	return errors.Join(put(entry.Name, from), from.Close())
}
