package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startTries  = 3                // a port is free when chosen, not when bound
	startWithin = 30 * time.Second // measured: under a second; a busy machine is slower
	askEvery    = 20 * time.Millisecond
	stopWithin  = 20 * time.Second
	keptOutput  = 8 << 10
	// leftover is how old the data of a test must be to be of a dead one.
	leftover = 24 * time.Hour
)

// server is a PostgreSQL that runs as a child of this process.
type server struct {
	url  string
	data string // its folder, seen from outside
	cmd  *exec.Cmd
	out  *tail
	done chan struct{} // closed when the child has ended and was waited for
	err  error         // how it ended; written before done closes, read after
}

// run makes a fresh cluster in the folder, starts it, and returns when it answers.
func run(ctx context.Context, root string) (*server, error) {
	user, err := postgresOf(root)
	if err != nil {
		return nil, err
	}
	sweep(filepath.Join(root, "tmp"))
	data, err := os.MkdirTemp(filepath.Join(root, "tmp"), "headstart-")
	if err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	password := rand.Text()
	if err := initialise(ctx, root, data, user, password); err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	var failures []error
	for range startTries {
		s, err := startOnce(ctx, root, data, user, password)
		if err == nil {
			return s, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errors.Join(failures...), os.RemoveAll(data))
}

// sweep removes the data of tests that were killed; what fails stays for the next.
func sweep(folder string) {
	old, _ := filepath.Glob(filepath.Join(folder, "headstart-*"))
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > leftover {
			_ = os.RemoveAll(dir)
		}
	}
}

// initialise sorts text by ICU's rules for English, as many of the world's
// databases do: what must be in the order of bytes has to say so.
func initialise(ctx context.Context, root, data string, user account, password string) error {
	secret := filepath.Join(data, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return fmt.Errorf("write password: %w", err)
	}
	if err := errors.Join(os.Chown(secret, int(user.uid), int(user.gid)), os.Chown(data, int(user.uid), int(user.gid))); err != nil {
		return fmt.Errorf("give data folder away: %w", err)
	}
	within := path.Join("/tmp", filepath.Base(data))
	cmd := exec.CommandContext(ctx, path.Join("/", path.Dir(program), "initdb"), "--pgdata="+within+"/data",
		"--username=postgres", "--auth=scram-sha-256", "--pwfile="+within+"/password", "--no-sync", "--no-instructions",
		"--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", environment(), inside(root, user)
	out := &tail{}
	cmd.Stdout, cmd.Stderr = out, out
	runtime.LockOSThread() // the child dies with its thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make a cluster: %w\n%s", err, out)
	}
	return nil
}

// environment inherits nothing: PGDATA or PGPORT would be obeyed.
func environment() []string { return []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"} }

func startOnce(ctx context.Context, root, data string, user account, password string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{
		url:  fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port),
		data: data, out: &tail{}, done: make(chan struct{}),
	}
	s.cmd = exec.Command(path.Join("/", program), settings(path.Join("/tmp", filepath.Base(data), "data"), port)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.SysProcAttr = "/", environment(), inside(root, user)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.WaitDelay = stopWithin
	started := make(chan error, 1)
	go s.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s in %s: %w", program, root, err)
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// settings: a chroot has no /dev/shm to share memory by, and data that lasts as
// long as a test need not reach the disk.
func settings(data string, port int) []string {
	args := []string{"-D", data}
	for _, set := range []string{
		"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", port), "unix_socket_directories=",
		"dynamic_shared_memory_type=mmap", "shared_preload_libraries=pg_textsearch",
		"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
		"max_connections=200", "shared_buffers=128MB", "log_min_messages=fatal", "log_min_error_statement=panic",
	} {
		args = append(args, "-c", set)
	}
	return args
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("choose port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// watch starts the child and waits for it on one thread, kept for the child's
// whole life: Linux kills the child when that thread ends.
func (s *server) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	s.err = s.cmd.Start()
	started <- s.err
	if s.err == nil {
		s.err = s.cmd.Wait()
	}
}

// waitReady asks with the password of this very server: the port may have gone
// to another.
func (s *server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("no answer after %s", startWithin))
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-tick.C:
		case <-s.done:
			return fmt.Errorf("postgres ended (%v); its last lines:\n%s", s.err, s.out)
		case <-ctx.Done():
			return fmt.Errorf("wait for postgres: %w; its last lines:\n%s", context.Cause(ctx), s.out)
		}
	}
}

// stop ends the server and removes its data.
func (s *server) stop() error { return errors.Join(s.end(), os.RemoveAll(s.data)) }

// end asks for a fast shutdown, which disconnects whoever is left.
func (s *server) end() error {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGQUIT, os.Kill} {
		if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop postgres: %w", err)
		}
		if s.endsWithin(stopWithin) {
			return nil
		}
	}
	return fmt.Errorf("stop postgres: still there after it was killed")
}

func (s *server) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
}

// tail keeps the end of what a child writes.
type tail struct {
	mu   sync.Mutex // guards all below: the child's pipe writes, others read
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-keptOutput):]
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
