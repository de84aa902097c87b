// Package store owns nothing but this page: the records that outlive a process
// and what every implementation of them promises. The implementations are
// store/sqlite (the embedded default) and others beside it; the interfaces are
// declared by those who use them (worker/calllog, retrieval/knowledge); store/storetest is the
// contract as a test, which every implementation passes.
//
// A store never ranks, never decides and never changes what it was given.
//
// # Records
//
//   - call: (org, id) and its facts: agent, started, ended, reason, sealed.
//   - entry: (org, log, seq) and what was written: time, agent, type, data. The
//     log is a call's id, or "@" and an agent's slug.
//   - base, file, piece, vector, org: as package knowledge says.
//
// The org is part of every key and of every query: two tenants may have calls
// of the same id and never see each other's.
//
// # A call's log
//
//	            call.ended              call.summary, the last entry in
//	(none) ──> open ─────────> ended ──────────────────────────────────> sealed
//	  first batch      └─ its worker died: the next start writes both ─┘
//
// The arrows are never taken back. An older batch that is played again leaves
// ended and sealed as they are. A sealed log takes no entry that it does not
// have: ErrSealed. A seq never gets a second entry: ErrConflict when type or
// time differ; other words under the same type and time are an erasure that
// happened since, and stay erased.
//
// # How it fails
//
// A batch is taken whole or not at all, and may be sent again whatever the
// error was. Errors of the database are returned as they are, with the verb of
// what was tried; nothing is retried inside but a lock, for at most a second.
package store
