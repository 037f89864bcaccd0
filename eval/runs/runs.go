// Package runs writes and reads run folders. The folder of a run consists of plain files, which
// outlive the run and which other programs read:
//
//	run.json                     the configuration of the run and the machine it ran on
//	attempts.jsonl               a header line, then a line per attempt or skipped case, then a summary
//	attempts/<n>-<case>-e1-t1/   the folder of one attempt (epoch 1, try 1):
//	    trace.jsonl              every frame of the session
//	    state.json               the collected state of the notebook
//	    notebook.ipynb           the notebook in Jupyter's format
//	    conversation.jsonl       the agent's messages
//	    stderr.txt               what kernel and agent printed
//	    rerun.ipynb              the notebook after a grader has run it again, if one did
//	    judge.jsonl              the model calls of an LLM judge, if there were any
//
// A [Writer] writes the folder; a [Store] reads the folders of all runs, finished or not. A line
// of attempts.jsonl is on disk before its result is shown anywhere, and is never changed: another
// try adds a line.
package runs

import "time"

// FormatVersion is the version of the run folder's format. Folders with another version are not
// read.
const FormatVersion = 1

// Info is the content of a run's run.json: when, where and with which settings the run was
// started.
type Info struct {
	Type    string    `json:"type"` // "run"
	Version int       `json:"version"`
	Run     string    `json:"run"` // the folder's name
	Started time.Time `json:"started"`

	Config any  `json:"config"` // the flags of the run
	Host   Host `json:"host"`
}

// Host describes the machine on which a run was made, and the versions of the programs.
type Host struct {
	AssayVersion  string `json:"assay"` // version of this program
	GoVersion     string `json:"go"`
	OS            string `json:"os"`
	Arch          string `json:"arch"`
	CPUs          int    `json:"cpus"`
	PythonVersion string `json:"python,omitempty"` // version of the interpreter
	HostName      string `json:"name"`             // host name
}
