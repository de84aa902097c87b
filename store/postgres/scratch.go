package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Scratch makes a database of its own on the server of a URL, with its tables, and
// returns its URL: for what must leave nothing behind in the one that the URL names.
// The user needs the right to make databases (CREATEDB). Who made it ends it with
// DropScratch; after a crash it is left there under a name that begins with
// headstart_scratch_.
func Scratch(ctx context.Context, at string) (scratch string, err error) {
	name := "headstart_scratch_" + strings.ToLower(rand.Text()[:12])
	if scratch, err = within(at, name); err != nil {
		return "", err
	}
	if err := execute(ctx, at, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("make scratch database: %w", err)
	}
	if _, err := Migrate(ctx, scratch); err != nil {
		return "", errors.Join(err, DropScratch(ctx, at, scratch))
	}
	return scratch, nil
}

// DropScratch drops what Scratch made, whoever is still connected to it.
func DropScratch(ctx context.Context, at, scratch string) error {
	cfg, err := parse(scratch)
	if err != nil {
		return err
	}
	if err := execute(ctx, at, "DROP DATABASE IF EXISTS "+pgx.Identifier{cfg.ConnConfig.Database}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop scratch database: %w", err)
	}
	return nil
}

// within is where another database of the same server is.
func within(at, name string) (string, error) {
	if !strings.HasPrefix(at, "postgres://") && !strings.HasPrefix(at, "postgresql://") {
		return at + " dbname=" + name, nil // keywords and values: the last one counts
	}
	address, err := url.Parse(at)
	if err != nil {
		return "", errors.New("read database URL: it is none") // the parser's words hold the password
	}
	address.Path = "/" + name
	query := address.Query()
	query.Del("dbname")
	query.Del("database")
	address.RawQuery = query.Encode()
	return address.String(), nil
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, at, statement string) error {
	cfg, err := parse(at)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to database: %w", err)
	}
	defer hangUp(ctx, conn)
	_, err = conn.Exec(ctx, statement)
	return err
}
