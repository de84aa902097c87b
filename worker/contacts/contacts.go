/*
Package contacts owns what operators do with what is remembered of a contact:
look at it, correct a fact, delete one, and forget the contact altogether, and
the ledger by which a database that was restored from a backup forgets again.

	forget --> ledger --> spools of this process --> store: facts, vectors, logs
	             |                                        |
	             +-- at the next start, for who is in it -+

It never decides what is remembered (package memory does) and never asks a model.
Calls that are on recall nothing more and go on, their logs without words; what
was said in them stays in their history until they end, and teaches nothing.

How it fails. An erasure stands in the ledger before anything is erased, so one
that breaks off is finished by the next start, or by asking again. While another
process is on a call with the contact nothing is erased: ErrElsewhere of package
calllog. A fact that is not the contact's is memory.ErrNoFact.
*/
package contacts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"headstart/memory"
	"headstart/worker/calllog"
)

// Spools are the logs that this process holds: a calllog.Book.
type Spools interface {
	Erase(e calllog.Erasure) (calllog.Spooled, error)
}

// Desk is an operator's hand on the contacts of one org.
type Desk struct {
	Org    string
	Facts  memory.Facts
	Editor memory.Editor
	Eraser calllog.Eraser
	Spools Spools
	Ledger *Ledger
	// Live are the calls of this process; nil where none are held.
	Live Live
}

// Live are the calls that a process holds: a worker.
type Live interface {
	// Forget makes calls that are on with a contact recall nothing more, and counts them.
	Forget(contact string) (calls int)
}

// Memory is all that is remembered of a contact, the oldest first.
type Memory struct {
	Held   []memory.Held // now
	Closed []memory.Held // not any more: history
}

// errNobody means that no contact was named.
var errNobody = errors.New("no contact is named")

// Memory reads what is remembered of a contact. Of an unknown one that is nothing.
func (d *Desk) Memory(ctx context.Context, contact string) (Memory, error) {
	all, err := d.Facts.History(ctx, d.Org, contact)
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for _, f := range all {
		if f.Current() {
			m.Held = append(m.Held, f)
		} else {
			m.Closed = append(m.Closed, f)
		}
	}
	return m, nil
}

// Delete erases one fact of a contact, held or closed.
func (d *Desk) Delete(ctx context.Context, contact, fact string) error {
	return d.Editor.Delete(ctx, d.Org, contact, fact)
}

// ErrText means that a correction says nothing.
var ErrText = errors.New("the text of a fact is empty, or longer than 500 characters")

// ErrSecret means that a correction holds a number that is never written: of a card,
// an account, an identity document, or a passcode.
var ErrSecret = errors.New("the text holds a number that is never kept")

// longestFact is in characters.
const longestFact = 500

// Correct puts another text in a fact's place, of the same category, and returns
// the fact that holds it: ErrText and ErrSecret say what is no text of one. The old one is history. The operator's word is certain:
// its confidence is 1. It has no vector: who recalls it makes one.
func (d *Desk) Correct(ctx context.Context, contact, fact, text string) (memory.Held, error) {
	text = strings.TrimSpace(text)
	if n := len([]rune(text)); n == 0 || n > longestFact {
		return memory.Held{}, ErrText
	}
	if found := memory.Secrets(text, ""); len(found) > 0 {
		return memory.Held{}, fmt.Errorf("%w: %s", ErrSecret, found[0])
	}
	old, err := d.held(ctx, contact, fact)
	if err != nil {
		return memory.Held{}, err
	}
	now := time.UnixMicro(time.Now().UnixMicro())
	by := memory.Held{Org: d.Org, Contact: contact, Fact: memory.Fact{
		ID: "f_" + strings.ToLower(rand.Text()), Text: text, Category: old.Category, Since: now, Confidence: 1,
	}}
	if err := d.Editor.Correct(ctx, d.Org, contact, fact, by, now); err != nil {
		return memory.Held{}, err
	}
	return by, nil
}

func (d *Desk) held(ctx context.Context, contact, fact string) (memory.Held, error) {
	m, err := d.Memory(ctx, contact)
	if err != nil {
		return memory.Held{}, err
	}
	for _, f := range m.Held {
		if f.ID == fact {
			return f, nil
		}
	}
	return memory.Held{}, fmt.Errorf("find fact %s: %w", fact, memory.ErrNoFact)
}

// Receipt is what was erased of a contact, and where. It names nobody.
type Receipt struct {
	At      time.Time     `json:"at"`
	Facts   FactsReceipt  `json:"facts"`
	Logs    LogsReceipt   `json:"logs"`
	Spools  SpoolsReceipt `json:"spools"`
	Live    int           `json:"live"`    // calls that are on, and recall nothing any more
	Ledger  string        `json:"ledger"`  // the entry that makes a restored backup forget again
	Pending string        `json:"pending"` // what goes by itself, in words
}

// FactsReceipt counts facts, closed ones too; each had its vector with it.
type FactsReceipt struct {
	Erased int `json:"erased"`
}

// LogsReceipt counts the calls whose words went, and their entries that had some.
type LogsReceipt struct {
	Calls   int `json:"calls"`
	Entries int `json:"entries"`
}

// SpoolsReceipt counts the logs of this process that went on without words.
type SpoolsReceipt struct {
	Logs    int `json:"logs"`
	Entries int `json:"entries"`
}

// pending is true of every erasure.
const pending = "vectors of questions are kept for a second; a call that is on keeps in its history what was said in it, until it ends"

// Forget erases a contact everywhere. Asking again is no error.
func (d *Desk) Forget(ctx context.Context, contact string) (Receipt, error) {
	if contact == "" {
		return Receipt{}, errNobody
	}
	at := time.UnixMicro(time.Now().UnixMicro())
	mark, err := d.Ledger.Record(d.Org, contact, at)
	if err != nil {
		return Receipt{}, err
	}
	r, err := d.erase(ctx, contact, at)
	if r.Ledger = mark; err == nil && d.Live != nil {
		r.Live = d.Live.Forget(contact)
	}
	return r, err
}

func (d *Desk) erase(ctx context.Context, contact string, until time.Time) (Receipt, error) {
	r := Receipt{At: until.UTC(), Pending: pending}
	e := calllog.Erasure{Org: d.Org, Contact: contact, Until: until}
	spooled, err := d.Spools.Erase(e)
	if err != nil {
		return r, fmt.Errorf("erase spools: %w", err)
	}
	r.Spools = SpoolsReceipt(spooled)
	gone, err := d.Eraser.Erase(ctx, e)
	if err != nil {
		return r, err
	}
	r.Facts.Erased, r.Logs = gone.Facts, LogsReceipt{len(gone.Calls), gone.Entries}
	return r, nil
}

// Reapply erases what the ledger says of every contact that the store knows: after
// a restore they are back. It returns how many contacts had something to erase.
func (d *Desk) Reapply(ctx context.Context) (again int, err error) {
	if d.Ledger.Empty() {
		return 0, nil
	}
	ids, err := d.Eraser.Contacts(ctx, d.Org)
	if err != nil {
		return 0, fmt.Errorf("apply erasures again: %w", err)
	}
	for _, contact := range ids {
		at, found := d.Ledger.Erased(d.Org, contact)
		if !found {
			continue
		}
		r, err := d.erase(ctx, contact, at)
		if err != nil {
			return again, fmt.Errorf("apply erasures again: %w", err)
		}
		if r.Facts.Erased+r.Logs.Calls+r.Spools.Logs > 0 {
			again++
		}
	}
	return again, nil
}
