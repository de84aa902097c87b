package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"headstart/worker/child"
)

const (
	startWithin = 30 * time.Second // measured: under a second; a busy machine is slower
	askEvery    = 20 * time.Millisecond
	stopWithin  = 20 * time.Second
	// leftover is how old the data of a test must be to be of a dead one.
	leftover = 24 * time.Hour
)

// server is a PostgreSQL that runs as a child of this process.
type server struct {
	url   string
	data  string // its folder, seen from outside
	child *child.Child
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
	s, err := child.Tries(ctx, func() (*server, error) { return startOnce(ctx, root, data, user, password) })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	return s, nil
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
	out := child.NewLines(20, nil)
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
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{url: fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port), data: data}
	cmd := exec.Command(path.Join("/", program), settings(path.Join("/tmp", filepath.Base(data), "data"), port)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", environment(), inside(root, user)
	if s.child, err = child.Start("postgres", cmd, nil); err != nil {
		return nil, fmt.Errorf("in %s: %w", root, err)
	}
	return s, s.child.Await(ctx, child.Patience{Within: startWithin, Every: askEvery}, s.answers)
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

// answers asks with the password of this very server: the port may have gone
// to another.
func (s *server) answers(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// stop ends the server, by a shutdown that disconnects whoever is left, and removes
// its data.
func (s *server) stop() error {
	err := s.child.End(child.Ask{Signal: os.Interrupt, Within: stopWithin}, child.Ask{Signal: syscall.SIGQUIT, Within: stopWithin})
	return errors.Join(err, os.RemoveAll(s.data))
}
