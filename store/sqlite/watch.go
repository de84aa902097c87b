package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// lookEvery is how often another process's changes are looked for: a second is what
	// a change may take, its loading included.
	lookEvery = 500 * time.Millisecond

	dataVersion  = `PRAGMA data_version`
	selectStates = `SELECT org, name, CAST(revision AS TEXT) FROM bases
		UNION ALL SELECT org, '', coalesce(knowledge_chunks, 'all') || ' ' || coalesce(memory_facts, 'all') FROM orgs`
)

// bell rings for the watchers of this process.
type bell struct {
	mu    sync.Mutex
	hears []chan struct{} // guarded by mu; each has room for one ring
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.hears {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last one
		}
	}
}

func (b *bell) hear() (rings <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hears = append(b.hears, c)
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hears = slices.DeleteFunc(b.hears, func(other chan struct{}) bool { return other == c })
	}
}

// writeKnowledge is a write that watchers are told of.
func (db *DB) writeKnowledge(ctx context.Context, do func(*sql.Tx) error) error {
	if err := db.write(ctx, do); err != nil {
		return err
	}
	db.changes.ring()
	return nil
}

// Watch implements knowledge.Watcher. It has a connection of its own: SQLite
// tells a connection by data_version that another one, of any process, has
// committed. What was committed is told by the revisions.
func (db *DB) Watch(ctx context.Context, changed func(org, base string)) (err error) {
	pool, err := connect(db.path, 1, "_pragma=query_only(1)")
	if err != nil {
		return fmt.Errorf("watch bases: %w", err)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	rings, leave := db.changes.hear()
	defer leave()
	w := watch{pool: pool, changed: changed}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch bases: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rings:
		case <-ticker.C:
		}
	}
}

// named is a base, or an org's quota when base is empty.
type named struct{ org, base string }

// watch is what one Watch has seen. Its goroutine alone uses it.
type watch struct {
	pool    *sql.DB
	changed func(org, base string)
	version int64
	states  map[named]string // nil before the first look
}

// look tells what has changed since the last one. The version is read before
// what it stands for, so that a commit between the two is seen next time.
func (w *watch) look(ctx context.Context) error {
	var version int64
	if err := w.pool.QueryRowContext(ctx, dataVersion).Scan(&version); err != nil {
		return err
	}
	if w.states != nil && version == w.version {
		return nil
	}
	states, err := w.read(ctx)
	if err != nil {
		return err
	}
	before := w.states
	w.version, w.states = version, states
	if before == nil {
		w.changed("", "")
		return nil
	}
	for _, n := range differ(before, states) {
		w.changed(n.org, n.base)
	}
	return nil
}

func (w *watch) read(ctx context.Context) (map[named]string, error) {
	states := make(map[named]string)
	_, err := collect(ctx, w.pool, selectStates, nil, func(scan scanner) (struct{}, error) {
		var n named
		var state string
		err := scan(&n.org, &n.base, &state)
		states[n] = state
		return struct{}{}, err
	})
	return states, err
}

// differ are the names whose states are not the same, in order.
func differ(a, b map[named]string) []named {
	var names []named
	for n, state := range a {
		if other, ok := b[n]; !ok || other != state {
			names = append(names, n)
		}
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(x, y named) int { return cmp.Or(cmp.Compare(x.org, y.org), cmp.Compare(x.base, y.base)) })
	return names
}
