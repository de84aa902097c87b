package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"headstart/retrieval/bench"
	"headstart/store/postgres"
)

// inMemory and inPostgres are the stores that a benchmark knows.
const (
	inMemory   = "memory"
	inPostgres = "postgres"
)

// beside indexes a collection in a store, and in memory as well when both were asked
// for.
type beside struct {
	bench.Store
	both   bool
	memory bench.Ranker // nil when one store was asked for
	index  bench.Index
}

// Index implements bench.Store.
func (b *beside) Index(ctx context.Context, l bench.Load) (bench.Ranker, bench.Index, error) {
	if b.both {
		var err error
		if b.memory, b.index, err = (bench.Memory{}).Index(ctx, l); err != nil {
			return nil, bench.Index{}, err
		}
	}
	return b.Store.Index(ctx, l)
}

// openStore opens where the collection is searched, and returns how to leave it.
func (o *docsBench) openStore(ctx context.Context) (b *beside, done func() error, err error) {
	if !slices.Contains(o.stores, inPostgres) {
		return &beside{Store: bench.Memory{}}, func() error { return nil }, nil
	}
	at := databaseOr(o.database)
	if at == "" {
		return nil, nil, usageError{errors.New("--store postgres: set HEADSTART_DATABASE_URL to a database that headstart migrate has prepared")}
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: at})
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("HEADSTART_DATABASE_URL: %w", err)}
	}
	if err := db.Ping(ctx); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	c := db.Collections()
	leave := func() error { return errors.Join(c.Drop(context.WithoutCancel(ctx)), db.Close()) } // nothing stays, however the run ends
	return &beside{Store: c, both: slices.Contains(o.stores, inMemory)}, leave, nil
}

// compare asks a collection in two places and says how much sooner the second answers.
func (o *docsBench) compare(ctx context.Context, out io.Writer, there, here *bench.Collection, w bench.Way) error {
	var rows []bench.Row
	for _, c := range []*bench.Collection{there, here} {
		r, err := c.Ask(ctx, w)
		if err != nil {
			return err
		}
		rows = append(rows, bench.Row{Name: o.arm + ", " + c.Store, Report: r})
	}
	if err := o.writeRun(there, rows[0].Report); err != nil {
		return err
	}
	if o.asJSON {
		encoder := json.NewEncoder(out)
		return errors.Join(encoder.Encode(rows[0].Report), encoder.Encode(rows[1].Report))
	}
	if err := bench.Write(out, there, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nin memory a search took %.3f ms at the median, by one statement %.3f ms: %.1f times as long\n",
		rows[1].Search.P50, rows[0].Search.P50, rows[0].Search.P50/rows[1].Search.P50)
	return err
}
