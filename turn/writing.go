package turn

import (
	"slices"
	"time"

	"headstart/memory"
)

// OpRemember is the Op of MemoryOps that tells what a call taught.
const OpRemember = "remember"

// Remembered is the entry that tells of a writing: all of it but the vectors.
func Remembered(w memory.Writing) MemoryOps {
	ops := MemoryOps{Op: OpRemember, Contact: w.Contact, Facts: []memory.Fact{}}
	for _, c := range w.Changes {
		if c.Op != memory.Invalidate {
			ops.Facts = append(ops.Facts, c.Fact.Fact)
		}
		ops.Changes = append(ops.Changes, MemoryChange{
			Op: string(c.Op), Fact: c.Fact.ID, Closes: c.Closes,
			Confidence: c.Fact.Confidence, Quote: c.Fact.Quote, Turn: c.Fact.Turn,
		})
	}
	return ops
}

// Writing is what the entry of a remember tells, as a call of an org wrote it at
// a time. Its facts have no vectors.
func (m MemoryOps) Writing(org, call string, at time.Time) memory.Writing {
	w := memory.Writing{Org: org, Contact: m.Contact, Call: call, At: at}
	for _, c := range m.Changes {
		fact := memory.Held{Org: org, Contact: m.Contact, Quote: c.Quote, Turn: c.Turn}
		i := slices.IndexFunc(m.Facts, func(f memory.Fact) bool { return c.Fact != "" && f.ID == c.Fact })
		if i < 0 && memory.Op(c.Op) != memory.Invalidate {
			continue // an erasure took the fact
		}
		if i >= 0 {
			fact.Fact = m.Facts[i]
			fact.Confidence = c.Confidence
		}
		w.Changes = append(w.Changes, memory.Change{Op: memory.Op(c.Op), Fact: fact, Closes: c.Closes})
	}
	return w
}
