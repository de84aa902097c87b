package storetest

import (
	"testing"
	"time"

	"headstart/worker/calllog"
)

// AwaitFailures lets a book run until so many of its operations on the store failed.
func AwaitFailures(t *testing.T, book *calllog.Book, failures int64) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for book.Stats().StoreFailures < failures {
		select {
		case <-t.Context().Done():
			t.Fatalf("test ended with %d store failures, want %d", book.Stats().StoreFailures, failures)
		case <-look.C:
		}
	}
}
