package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"headstart/worker/child"
)

// errNoServer means that there is no PostgreSQL here and that none can be
// fetched.
var errNoServer = errors.New("the packages of a server are not in the cache, and cannot be fetched")

// packages are Debian's names of the server and its extensions.
const packages = "postgresql-18,postgresql-18-pgvector,postgresql-18-pg-textsearch"

// suiteName is the Debian that has them all.
const suiteName = "sid"

// program is the server's path in the folder.
const program = "usr/lib/postgresql/18/bin/postgres"

// findRoot returns a folder that holds a whole small Debian with the server in
// it, and fetches it first when it is not in the cache: about 120 MB, and a
// minute. Finders at the same time fetch it once.
func findRoot(ctx context.Context, progress func(string)) (string, error) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return "", errors.New("only root on Linux can run one in a folder of its own")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	root := filepath.Join(cache, "headstart", "postgresql-18-"+suiteName+"-"+runtime.GOARCH)
	return root, child.Once(ctx, root, isServer, func() {}, func(ctx context.Context) error { return fetch(ctx, root, progress) })
}

func isServer(root string) bool {
	info, err := os.Stat(filepath.Join(root, program))
	return err == nil && info.Mode().IsRegular()
}

// fetch unpacks the packages beside the folder and renames the whole, so that
// half of a server is never found.
func fetch(ctx context.Context, root string, progress func(string)) error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return fmt.Errorf("%w: install mmdebstrap", errNoServer)
	}
	progress("fetching " + packages + " from Debian " + suiteName + ": about a minute the first time")
	began, half := time.Now(), root+".half"
	if err := errors.Join(os.RemoveAll(half), os.RemoveAll(root)); err != nil {
		return fmt.Errorf("clear cache folder: %w", err)
	}
	var out bytes.Buffer
	// A mirror that stands still for a while is good enough: its lists may have expired.
	cmd := exec.CommandContext(ctx, "mmdebstrap", "--variant=apt",
		`--aptopt=Acquire::Check-Valid-Until "false"`, "--include="+packages, suiteName, half)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch %s from Debian %s with mmdebstrap: %w\n%s", packages, suiteName, errors.Join(err, context.Cause(ctx)), out.Bytes())
	}
	if !isServer(half) {
		return fmt.Errorf("fetch %s from Debian %s: no %s in what came", packages, suiteName, program)
	}
	if err := os.Rename(half, root); err != nil {
		return fmt.Errorf("keep fetched server: %w", err)
	}
	progress("fetched PostgreSQL in " + time.Since(began).Round(time.Second).String())
	return nil
}
