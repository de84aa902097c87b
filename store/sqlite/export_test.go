package sqlite

import (
	"context"
	"fmt"
)

// LimitPages lets the database grow to so many pages: a full disk for tests.
func (db *DB) LimitPages(ctx context.Context, pages int) error {
	_, err := db.writer.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages))
	return err
}
