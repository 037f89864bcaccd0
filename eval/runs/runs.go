// Package runs is the run folder: plain files that outlive the run and that
// other programs read.
//
//	run.json                     what was run, with what, where
//	attempts.jsonl               a header line, then a line per attempt
//	attempts/<n>-<case>-e1-t1/   one attempt:
//	    trace.jsonl              every frame
//	    state.json               the notebook at the end, as summaries tell it
//	    notebook.ipynb           the same as a Jupyter notebook
//	    conversation.jsonl       the agent's messages
//	    stderr.txt               what kernel and agent printed
//	    rerun.ipynb, judge.jsonl the notebook run again, and the calls of a
//	                             judge, where graders asked for them
//
// A line of attempts.jsonl is on disk before anybody is told of it, and is
// never changed: trying again adds a line.
package runs

import (
	"time"
)

// FormatVersion is the version of the folder's format.
const FormatVersion = 1

// Info is run.json.
type Info struct {
	Type    string    `json:"type"` // "run"
	Version int       `json:"version"`
	Run     string    `json:"run"` // the folder's name
	Started time.Time `json:"started"`

	// Config is what was asked for, and Host where it ran.
	Config any  `json:"config"`
	Host   Host `json:"host"`
}

// Host is the machine and the programs of a run.
type Host struct {
	Assay  string `json:"assay"` // version of this program
	Go     string `json:"go"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Python string `json:"python,omitempty"` // version of the interpreter
	Name   string `json:"name"`
}
