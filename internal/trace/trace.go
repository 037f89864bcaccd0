// Package trace is the journal of a session: every frame, in the one order in
// which the session saw them, with the hop that it was seen on and the time.
//
// A [Journal] is this order in memory. Append gives an entry its number; a
// [Follower] reads entries from the moment on at which it was made. A [Writer]
// writes a journal to a file, one JSON object a line; [ReadRecords], [Tail] and
// [ParseRecord] read such a file. Everything that is known of a session is made
// from its trace: when a case is complete, the notebook at any moment, the
// conversation, and every view. The package flow joins entries into requests.
//
// The file format is described in docs/protocol.md.
//
// # Goroutines
//
// A [Recording] has one goroutine, which writes the file. It ends when the journal
// is closed or writing fails, and [Recording.Close] waits for it.
//
// # Failures
//
// If the file cannot be written, the writer stops and [Journal.WaitForRoom] returns
// [ErrCannotWrite] from then on, which ends kernel and agent. If it cannot be
// written fast enough, WaitForRoom blocks the readers of kernel and agent until it
// is, and fails if nothing was written for [RoomTimeout].
package trace

import (
	"time"

	"assay/internal/protocol"
)

// FormatVersion is the version of the trace file's format, which is in the file's first line.
const FormatVersion = 1

// Hop says between which two peers a trace entry's frame was seen, such as "agent>server"; or
// it is HopNotebook or HopSession for entries that are not frames.
type Hop string

// The hops.
const (
	AgentToServer   Hop = "agent>server"
	ServerToAgent   Hop = "server>agent"
	KernelToServer  Hop = "kernel>server"
	ServerToKernel  Hop = "server>kernel"
	ConsoleToServer Hop = "console>server"
	ServerToConsole Hop = "server>console"

	// AgentToModel and ModelToAgent are for the calls of the agent's models, which go through
	// the server; package internal/model/calllog has the entries.
	AgentToModel Hop = "agent>model"
	ModelToAgent Hop = "model>agent"

	// HopNotebook is for changes of the server's own document.
	HopNotebook Hop = "notebook"

	// HopSession is for what happens to the session itself: its state, its child
	// processes, limits, and who holds the document.
	HopSession Hop = "session"
)

// AllHops returns all values of Hop.
func AllHops() []Hop {
	return []Hop{AgentToServer, ServerToAgent, KernelToServer, ServerToKernel, ConsoleToServer, ServerToConsole, AgentToModel, ModelToAgent, HopNotebook, HopSession}
}

// Note says what happened to the frame of a trace entry if it was not simply forwarded, such as
// "dropped". Most entries have none.
type Note string

// The notes.
const (
	NoteIntercepted Note = "intercepted" // an action that the kernel answers, not the holder of the document
	NoteRelayed     Note = "relayed"     // the server made the frame out of the entry CauseSeq
	NoteTimedOut    Note = "timed_out"   // the error in place of an answer that did not come in time
	NoteOrphaned    Note = "orphaned"    // an answer to no known request; dropped
	NoteDuplicate   Note = "duplicate"   // a second answer; dropped
	NoteLate        Note = "late"        // an answer after the request's deadline; dropped
	NoteDropped     Note = "dropped"     // not passed on, as there was no receiver, no room, or no permission
	NoteMalformed   Note = "malformed"   // not a message; Body is what came
	NoteTamper      Note = "tamper"      // a sign that somebody tries to fool the harness
)

// AllNotes returns all values of Note, in the order in which statistics list them.
func AllNotes() []Note {
	return []Note{NoteIntercepted, NoteRelayed, NoteTimedOut, NoteLate, NoteDuplicate, NoteOrphaned, NoteDropped, NoteMalformed, NoteTamper}
}

// Entry is one entry of a trace: a frame that was seen on one hop, or an event of the notebook
// or session. [Journal.Append] sets Seq, Elapsed and WallTime.
type Entry struct {
	Seq      int64         // number of the entry: from 1 on, without gaps
	Elapsed  time.Duration // since the journal began, monotonic
	WallTime time.Time

	Hop       Hop
	ConsoleID int // number of the console; 0: the entry is not about one console
	protocol.Envelope
	BodyBytes int // length of the frame's body; Append replaces 0 by the length of Body
	Note      Note

	// Body is the frame: JSON, a raw frame or, with NoteMalformed, any bytes. It is
	// nil where an earlier entry, RefSeq, has the same bytes. Nobody may change Body
	// after the entry was appended.
	Body []byte

	// RefSeq is the number of the entry that has the body; 0: this one has it.
	RefSeq int64

	// CauseSeq is the number of the entry that this one was made out of: the action
	// for which the kernel is asked, the kernel's reply that becomes an answer, or
	// the frame that is relayed. 0: none.
	CauseSeq int64
}
