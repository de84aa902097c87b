package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/store/postgres"
)

// tenants share 20,000 rows: one has 1 % of them, one 10 %, one nearly all. Of
// that shape an index over all rows with a filter behind it gives the small ones
// too few.
var tenants = []struct {
	org    string
	pieces int
}{{"one-percent", 200}, {"ten-percent", 2000}, {"most", 17_800}}

// Every tenant gets as many as it asks for, or all that match, however many rows
// of others lie beside its own and nearer to the question; and what it gets, the
// nearest and the numbers of its words, is its own.
func TestEveryTenantGetsItsOwn(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	h := newHill(3, 50)
	began := time.Now()
	for _, tenant := range tenants {
		fill(t, db, tenant.org, "docs", tenant.pieces, h)
	}
	t.Logf("20,000 pieces of three tenants were pushed by COPY and indexed in %v", time.Since(began).Round(time.Millisecond))
	for _, tenant := range tenants {
		getsItsOwn(t, db, tenant.org, h)
	}
	// What was replaced leaves dead entries in the graph, which a walk runs into
	// first: here as many as live ones, twice over.
	for range 2 {
		refill(t, db, "ten-percent", "docs", 2000, h)
	}
	getsItsOwn(t, db, "ten-percent", h)
}

// getsItsOwn asks a tenant's base in every way, and compares with all its rows.
func getsItsOwn(t *testing.T, db *postgres.DB, org string, h *hill) {
	t.Helper()
	all := readBase(t, db, org, "docs")
	own := make(map[string]bool, len(all.chunks))
	for _, c := range all.chunks {
		own[c.Text] = true
	}
	for _, k := range []int{1, 8, 10, 30, 100, 300} {
		for _, q := range waysToAsk(org, h, k) {
			hits := search(t, db, q)
			if least, most := wanted(all, q); len(hits) < least || len(hits) > most {
				t.Fatalf("org %s with %d pieces gave %d, want %d to %d: k %d, terms %q, %d numbers of vector, weak %v",
					org, len(all.chunks), len(hits), least, most, k, q.Terms, len(q.Vector), q.Weak)
			}
			if !slices.IsSortedFunc(hits, func(x, y retrieval.LargeHit) int { return -compare(x.Score, y.Score) }) {
				t.Fatalf("org %s: hits are not in the order of their scores", org)
			}
			if at := slices.IndexFunc(hits, func(hit retrieval.LargeHit) bool { return !own[hit.Chunk.Text] }); at >= 0 {
				t.Fatalf("org %s: hit %d is not its own: %q", org, at, hits[at].Chunk.Text)
			}
		}
	}
	if missed := missedNearest(t, db, all, h); missed > 5 { // of 100
		t.Fatalf("org %s with %d pieces: the graph missed %d of the 100 nearest", org, len(all.chunks), missed)
	}
}

// waysToAsk are by both branches, by each, and with a floor for the cosine, which
// is the filter that a base has inside.
func waysToAsk(org string, h *hill, k int) []retrieval.LargeQuery {
	fused := both(org, "docs", h.vector(), k, "palabra0", "palabra3")
	floored := both(org, "docs", h.vector(), k, "palabra0", "palabra3")
	floored.Weak = 0.2
	near := both(org, "docs", h.vector(), k)
	selective := both(org, "docs", h.vector(), k)
	selective.Weak = 0.7
	rare := retrieval.LargeQuery{Org: org, Base: "docs", Terms: []string{"palabra1900"}, WordsWeight: 1, K: k}
	common := retrieval.LargeQuery{Org: org, Base: "docs", Terms: []string{"palabra1"}, WordsWeight: 1, K: k}
	return []retrieval.LargeQuery{fused, floored, near, selective, rare, common}
}

// wanted is how many hits a question must have: exactly as many as it asks for, or
// all that match. Only of those within a floor may the graph leave out a few, and
// the last digits of a cosine decide on which side of it a piece is.
func wanted(all held, q retrieval.LargeQuery) (least, most int) {
	if q.Weak == -1 || len(q.Vector) == 0 {
		exactly := min(q.K, all.matching(q))
		return exactly, exactly
	}
	within, around := q, q
	within.Weak, around.Weak = q.Weak+1e-3, q.Weak-1e-3
	least, most = all.matching(within), all.matching(around)
	return min(q.K, least-least*3/100-1), min(q.K, most+most*3/100)
}

// missedNearest counts, over ten questions, which of the ten nearest are not found.
func missedNearest(t *testing.T, db *postgres.DB, all held, h *hill) (missed int) {
	t.Helper()
	for range 10 {
		q := both(all.base.Org, "docs", h.vector(), 10)
		found := strings.Join(ids(search(t, db, q)), " ")
		for _, id := range all.nearest(q.Vector, 10) {
			if !strings.Contains(found, id) {
				missed++
			}
		}
	}
	return missed
}
