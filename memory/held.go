package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"time"
)

// Held is a fact as a store keeps it.
type Held struct {
	Fact
	Org     string
	Contact string // the platform's id of the contact, exact
	// Quote is the caller's words that support the fact, and Turn the id of the
	// turn in which they were said. Empty for what an operator wrote.
	Quote, Turn string
	// Model is the embedder that made Vector; both empty when it was not embedded,
	// and then only the words find the fact.
	Model  string
	Vector []float32 // of unit length
	// Until is when the fact stopped being held, zero while it is; ClosedBy is the
	// call that closed it, or empty when an operator did.
	Until    time.Time
	ClosedBy string
}

// Current tells whether the fact is still held.
func (h Held) Current() bool { return h.Until.IsZero() }

// Op is what a call does to a contact's facts.
type Op string

// The operations.
const (
	Add        Op = "add"        // holds a new fact
	Update     Op = "update"     // holds a new fact and closes the one that it replaces
	Invalidate Op = "invalidate" // closes a fact that is no longer true
)

// Change is one operation that was admitted.
type Change struct {
	Op
	// Fact is what is held from now on. Of an Invalidate it carries only the Quote
	// and the Turn that say why.
	Fact Held
	// Closes is the id of the fact that ends; empty of an Add. A store that finds no
	// such current fact of this contact closes nothing, and adds all the same.
	Closes string
}

// Writing is all that one call changes. A store applies it in one transaction,
// together with the log's entry that tells of it, once for each org and call.
type Writing struct {
	Org, Contact string
	Call         string
	At           time.Time // when facts begin and end by it
	Changes      []Change  // perhaps none: then the call taught nothing, and that is kept too
}

// Policy says what a memory keeps of a contact and what it never does, in the
// tenant's own words.
type Policy struct {
	Remember []string `json:"remember" yaml:"remember"` // the categories worth keeping; none keeps nothing
	Forget   []string `json:"forget" yaml:"forget"`     // the kinds that are never written
}

// FactID is the id of the nth fact of a call. It follows from what it names, so
// that a call that is remembered again after a crash writes the same ids.
func FactID(org, contact, call string, n int) string {
	h := sha256.New()
	for _, part := range []string{org, contact, call, strconv.Itoa(n)} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return "f_" + strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15]))
}
