// Package testcases loads test cases: the task for an agent, the files that belong to
// it, and how the answer is graded. Files are JSON, JSON Lines or YAML. The format is
// that of two public benchmarks, whose cases load unchanged, with additional fields of
// Assay.
package testcases

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// Case is one test case: its id, task, files, graders and limits. It does not change
// after loading.
type Case struct {
	ID     string
	Task   string // what the agent receives, verbatim
	Notes  string // for people; never shown to the agent
	Source CaseLocation

	Kernel   string   // name of the required kernel; "" means any
	Network  string   // what code in the kernel may reach: on, loopback or off; "" means what the run says
	Requires []string // what must be installed on the machine: see [CheckRequirements]
	Tags     []string
	Metadata *pyvalue.Object // nil if the case has none
	Limits   AttemptLimits
	Timeouts Timeouts

	Data  []DataFile   // put into the sandbox as data/<Base>
	Files []InlineFile // put into the sandbox under their names
	Setup string       // code that the kernel runs before the agent starts

	Graders []grading.Spec  // none means that the case is not graded
	Oracle  json.RawMessage // the solution, {"cells" [, "answer"]} or {"turns"}; nil if there is none

	runErrors []error // why the case cannot be run, although it loads; see CheckRunnable
}

// CaseLocation is the place from which a case was loaded: a file and, if the file contains
// several cases, a position.
type CaseLocation struct {
	File  string // path as it was given or found
	Index int    // position of the case in the file, from 0
	Place string // file and position for messages
}

// String returns the file and, if it contains several cases, the position in it.
func (s CaseLocation) String() string { return s.Place }

// Dir returns the absolute path of the folder that contains the case's file.
func (s CaseLocation) Dir() string {
	dir := filepath.Dir(s.File)
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

// AttemptLimits are the limits of one attempt at a case. 0 means that the case sets no such
// limit.
type AttemptLimits struct {
	Wall, Idle, Cell time.Duration
	Turns, Actions   int
	Tokens           int64
	CostUSD          float64
}

// Timeouts are the time limits of the public format, in the order of their precedence.
// 0 or less means that the case sets no such limit.
type Timeouts struct {
	Agent    time.Duration // agent_timeout
	Timeout  time.Duration // timeout
	Metadata time.Duration // metadata.timeout_s
}

// DataFile is a data file that a case needs but does not contain. Assay copies it into
// the sandbox.
type DataFile struct {
	Name string // as in the case
	Path string // absolute path of the local file; "" if no local folder is known for its address
	Base string // name in the sandbox's data folder
}

// InlineFile is a text file whose content is written in the case itself.
type InlineFile struct {
	Name string // relative, with slashes
	Text string
}

// WallLimit returns how long an attempt at the case may take: the first of
// limits.wall_s, agent_timeout, timeout and metadata.timeout_s that is above 0, or 0 if
// the case sets none of them.
func (c Case) WallLimit() time.Duration {
	for _, d := range []time.Duration{c.Limits.Wall, c.Timeouts.Agent, c.Timeouts.Timeout, c.Timeouts.Metadata} {
		if d > 0 {
			return d
		}
	}
	return 0
}

// TruthPaths returns the absolute paths of the files and folders that may tell an agent how to pass:
// the case's file and what its graders use.
func (c Case) TruthPaths() []string {
	dir := c.Source.Dir()
	paths := []string{filepath.Join(dir, filepath.Base(c.Source.File))}
	for _, spec := range c.Graders {
		paths = append(paths, spec.TruthPaths(dir)...)
	}
	return paths
}

// CheckRunnable returns an error with all reasons for which the cases cannot be run
// together: an id that occurs twice, data files that cannot be in one sandbox, graders
// that are not a list of objects or that [grading.CheckSpec] or [grading.CheckKernel] rejects. It returns nil if
// they can be run.
func CheckRunnable(cases []Case) error {
	var errs []error
	first := map[string]CaseLocation{}
	for _, c := range cases {
		if earlier, ok := first[c.ID]; ok {
			errs = append(errs, fmt.Errorf("%s: id %q is already taken by %s", c.Source, c.ID, earlier))
		} else {
			first[c.ID] = c.Source
		}
		errs = append(errs, c.runErrors...)
		for _, spec := range c.Graders {
			if err := cmp.Or(grading.CheckSpec(spec), grading.CheckKernel(spec, c.Kernel)); err != nil {
				errs = append(errs, fmt.Errorf("%s: case %q: %w", c.Source, c.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}
