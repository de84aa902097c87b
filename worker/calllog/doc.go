// Package calllog owns the log of each call, and of each agent ("@slug"): it
// gives every entry its seq, keeps it where a killed process cannot lose it,
// brings it to the store in batches, and shows it to those who follow.
//
// It never talks to a caller or a model, never decides what an entry says, and
// never lets a call wait for a database.
//
// An entry's way:
//
//	Append: seq, one write(2) to the spool ──> followers (from memory)
//	                     │
//	Run: batches of many logs ──> Store.Append ──> sealed and whole: spool removed
//
// A spool is one append-only file a log, locked while its process lives; one
// line an entry, each with its checksum. The page cache outlives the process,
// so kill -9 loses nothing that Append returned from. Run syncs the spools each
// second, which bounds what a power cut can take; the folder must be on a local
// disk. An ephemeral entry leaves only its seq and type there, so that a seq
// which a follower saw is not used again after a crash.
//
// How it fails: a store that is slow, locked, full or away costs time only: the
// spool grows and Run tries again, up to ten seconds apart. A full disk keeps
// entries in memory until the disk or the store takes them; it is counted in
// Stats and told once. A kill while both refuse is the one thing that loses
// entries. An event that cannot be marshalled becomes an error entry. An Append
// after the seal is refused, counted and told once a log, as the bug that it is.
// A log that another process holds is not touched: ErrOwned.
package calllog
