/*
Package turn owns one caller turn after the other, and the history of the
conversation. It is the only place that decides when to speak. It never
imports LiveKit, never opens a database, and never waits for either: what it
hears and where it speaks are ports, and its log takes an entry without
blocking.

A conversation is a pure step and a thin loop. step takes one occurrence (an
edge of the voice activity detector, an interim, a lookup that came back, a
deadline) and returns what is to be done; it has no clock, no goroutine and no
I/O. Run owns the one select, performs the actions, and feeds what comes of
them back as occurrences. So "the lookup is done" and "the budget is spent" are
occurrences like any other, and a barge-in or a hang-up is heard meanwhile.

	           first sound: speech_id
	listening ------------------------> being spoken <----------------+
	    ^                                | interim with new content   |
	    |                                |   words: lookups start,    |
	    | no word came                   |   older ones are superseded|
	    +--------------------------------+                            |
	    |                                | silent, words final:       |
	    |                                v   commit                   |
	    |                              owed ---- caller speaks on ----+
	    |                                | lookups in, or the budget  | superseded
	    |                                | is spent: skipped          |
	    |                                v                            |
	    |                             thinking --- caller speaks on --+
	    |                                | first sound                |
	    |                                v                            |
	    +---- heard to its end ------ speaking --- barge-in ----------+
	                                             answered, interrupted:
	                                             history keeps what was heard

Every committed turn ends in exactly one of: answered (a turn.agent entry of
its speech_id), superseded or refused (a turn.refused entry with the reason).

An answer may call tools, the app's and the platform's search (errand.go, searching.go):
then what is said while they run is a turn.agent of its own kind, and the turn ends with
the answer to their results.

How it fails. A lookup that is late, fails or is deaf to its cancellation costs
the turn at most its budget and 10 ms, and is told as search_skipped or
recall_skipped. A model or a voice that fails is asked once more if it may be;
then the caller hears a phrase that was synthesised before, and the log tells
why. A recogniser that gives up is tried again each second; a caller of whom
no word was understood hears that once. A tool that fails, is late or has lost its app,
and a search that the model called and that was skipped, is an error that the model reads. A panic ends the conversation as an
error, whichever of its goroutines it was on (package crew).
*/
package turn
