// Package trace is the journal of a session: every frame, in the one order in
// which the session saw them, each with where it went and when.
//
// A [Journal] is that order in memory: whoever appends gets the next number,
// whoever follows sees every entry from there on. A [Writer] follows a journal
// into a file, and [ReadRecords] reads such a file back. The completion of a case, the
// notebook as it was, the conversation and every view are made from it.
package trace

import (
	"time"

	"assay/internal/protocol"
)

// FormatVersion is the version of the file format.
const FormatVersion = 1

// Hop is the stretch of the wire that an entry was seen on.
type Hop string

// The hops. Notebook is for the changes of the server's own document, Session
// for what happens to the session itself: states, children, limits, drops.
const (
	AgentToServer   Hop = "agent>server"
	ServerToAgent   Hop = "server>agent"
	KernelToServer  Hop = "kernel>server"
	ServerToKernel  Hop = "server>kernel"
	ConsoleToServer Hop = "console>server"
	ServerToConsole Hop = "server>console"
	HopNotebook     Hop = "notebook"
	HopSession      Hop = "session"
)

// AllHops are all of them.
func AllHops() []Hop {
	return []Hop{AgentToServer, ServerToAgent, KernelToServer, ServerToKernel, ConsoleToServer, ServerToConsole, HopNotebook, HopSession}
}

// Note says what became of a frame, where that is not plain.
type Note string

// The notes.
const (
	NoteIntercepted Note = "intercepted" // answered from the kernel, not by the console
	NoteRelayed     Note = "relayed"     // made by the server out of the entry in Ref
	NoteTimedOut    Note = "timed_out"   // the error that stands for an answer that did not come
	NoteOrphaned    Note = "orphaned"    // an answer to nothing that was asked; dropped
	NoteDuplicate   Note = "duplicate"   // a second answer; dropped
	NoteLate        Note = "late"        // an answer after its deadline; dropped
	NoteDropped     Note = "dropped"     // not forwarded, for want of a receiver or of room
	NoteMalformed   Note = "malformed"   // not a message; Body is what came
	NoteTamper      Note = "tamper"      // a signal that somebody tries to fool the harness
)

// AllNotes are all of them, in the order in which they are shown.
func AllNotes() []Note {
	return []Note{NoteIntercepted, NoteRelayed, NoteTimedOut, NoteLate, NoteDuplicate, NoteOrphaned, NoteDropped, NoteMalformed, NoteTamper}
}

// Entry is one frame on one hop. Seq, T and Wall are given by the Journal.
type Entry struct {
	Seq      int64         // from 1 on, without gaps
	Elapsed  time.Duration // since the journal began, monotonic
	WallTime time.Time

	Hop       Hop
	ConsoleID int // which console; 0 where there is only one peer
	protocol.Envelope
	BodyBytes int // of the body; 0 is filled in from Body
	Note      Note

	// Body is the frame: JSON or a raw frame, or, noted Malformed, any bytes.
	// Where the bytes of an earlier entry leave again, Ref is its Seq and Body
	// is nil. Nobody may change Body after it was appended.
	Body   []byte
	RefSeq int64

	// Cause is the Seq of the entry that this one was made out of: of the
	// action that the kernel is asked on behalf of, of the kernel's reply that
	// becomes an answer, of the frame that is relayed. 0: of none.
	CauseSeq int64
}
