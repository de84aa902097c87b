package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
	"headstart/store/sqlite"
	"headstart/worker/calllog"
)

// database is what keeps a worker's records: SQLite in its data folder, or the
// PostgreSQL of HEADSTART_DATABASE_URL.
type database interface {
	calllog.Store
	calllog.Calls
	calllog.Eraser
	knowledge.Store
	memory.Facts
	memory.Notebook
	memory.Editor
	// Ping tells whether it can be read now.
	Ping(ctx context.Context) error
	Close() error
}

// openDatabase opens the database at a URL, or the one in a data folder. A
// PostgreSQL that does not answer is no reason not to start: calls wait in their
// spools for it. One whose tables are not ours to use is.
func openDatabase(ctx context.Context, at, data string, log *zap.Logger) (database, error) {
	if at == "" {
		db, err := sqlite.Open(ctx, filepath.Join(data, "headstart.db"))
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		return db, nil
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: at})
	if err != nil {
		return nil, usageError{fmt.Errorf("HEADSTART_DATABASE_URL: %w", err)}
	}
	err = db.Ping(ctx)
	switch {
	case errors.Is(err, postgres.ErrOlder) || errors.Is(err, postgres.ErrNewer):
		return nil, errors.Join(fmt.Errorf("open store: %w", err), db.Close())
	case err != nil:
		log.Warn("database does not answer, entries wait in spools", zap.Error(err))
	}
	return db, nil
}

// recordsIn refuses a data folder in which no worker has kept anything: to look there,
// or to erase something there, would tell of nothing and mean another.
func recordsIn(at, data string) error {
	if at != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(data, "headstart.db")); errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("no records in %s: headstart start or docs push keeps the first; name another folder with --data, or a PostgreSQL with --database", data)}
	}
	return nil // what else is wrong with it, opening tells
}

// openRecords opens what a worker has kept, and makes nothing where none has.
func openRecords(ctx context.Context, at, data string) (database, error) {
	if err := recordsIn(at, data); err != nil {
		return nil, err
	}
	return openDatabase(ctx, at, data, zap.NewNop())
}

// databaseFlag adds the flag that says where the records are kept.
func databaseFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "database", "", "`URL` of a PostgreSQL for all records, postgres://…; none is SQLite in --data (HEADSTART_DATABASE_URL, which keeps a password out of the list of processes)")
}

// databaseOr is the flag's URL, or the environment's.
func databaseOr(flag string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv("HEADSTART_DATABASE_URL")
}

// maskURL shows which database, without its password.
func maskURL(at string) string {
	if at == "" {
		return ""
	}
	address, err := url.Parse(at)
	if err != nil || address.Host == "" {
		return "***" // keywords and values
	}
	query := address.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		address.RawQuery = query.Encode()
	}
	return address.Redacted()
}

func migrateCommand() *cobra.Command {
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of a PostgreSQL, or bring them up to date",
		Long: `Makes the tables of the PostgreSQL of HEADSTART_DATABASE_URL, or brings those of
an older headstart up to date: all of it or nothing. Run it before workers of a
new version start; running it again changes nothing. The tables of a newer
headstart are refused. SQLite needs no such step.

The server is PostgreSQL 17 or 18 with pgvector; with pg_textsearch installed and in
shared_preload_libraries the words of large bases are ranked by BM25 there. The user
must be allowed to CREATE EXTENSION vector and pg_textsearch, or an administrator has
done it before.`,
		Example: `  HEADSTART_DATABASE_URL=postgres://headstart:…@db/headstart headstart migrate
  headstart migrate --database postgres://localhost/headstart --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at = databaseOr(at)
			if at == "" {
				return usageError{errors.New("no database: set HEADSTART_DATABASE_URL to that of a PostgreSQL; SQLite needs no migration")}
			}
			done, err := postgres.Migrate(cmd.Context(), at)
			if err != nil {
				return err
			}
			status, err := statusOf(cmd.Context(), at)
			if err != nil {
				return err
			}
			return writeMigrated(cmd.OutOrStdout(), done, status, asJSON)
		},
	}
	databaseFlag(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func statusOf(ctx context.Context, at string) (s postgres.Status, err error) {
	db, err := postgres.Open(ctx, postgres.Config{URL: at})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Status(ctx)
}

func writeMigrated(out io.Writer, m postgres.Migrated, s postgres.Status, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{
			"from": m.From, "to": m.To, "applied": append([]string{}, m.Applied...),
			"postgres": s.Server, "pgvector": s.Vector, "pg_textsearch": s.TextSearch,
		})
	}
	for _, name := range m.Applied {
		fmt.Fprintln(out, "applied", name)
	}
	if len(m.Applied) == 0 {
		fmt.Fprintln(out, "nothing to do")
	}
	_, err := fmt.Fprintf(out, "tables    version %d\nserver    PostgreSQL %s, pgvector %s\nwords     %s\n", m.To, s.Server, s.Vector, s.Words())
	return err
}
