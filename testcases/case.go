// Package testcases reads the cases that are given to an agent: what the task
// is, what the case brings with it, and how the answer will be graded. Files are
// JSON, JSON Lines or YAML; the format is that of two public benchmarks, which
// load as they are, with fields of our own added.
package testcases

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// Case is one test case. It is not changed after loading.
type Case struct {
	ID     string
	Task   string // what the agent is told, verbatim
	Notes  string // for people, never shown to the agent
	Source Source

	Kernel   string   // name of the kernel the case wants; empty: any
	Requires []string // what must be on the machine: see [CheckRequirements]
	Tags     []string
	Metadata *pyvalue.Object // nil when the case has none
	Limits   Limits
	Timeouts Timeouts

	Data  []DataFile // placed in the sandbox as data/<Base>
	Files []File     // placed in the sandbox under their names
	Setup string     // code run in the kernel before the agent starts

	Graders []grading.Spec  // none: the case is not graded
	Oracle  json.RawMessage // the solution, {"cells" [, "answer"]} or {"turns"}; nil when there is none

	runErrors []error // what keeps it from being run, although it loads; see CheckRun
}

// Source says where a case was read.
type Source struct {
	File  string // as it was named or found
	Index int    // of the case in the file, from 0
	Place string // file and position for messages
}

// String names the file and, where it holds several cases, the place in it.
func (s Source) String() string { return s.Place }

// Dir is the folder of the file, an absolute path.
func (s Source) Dir() string {
	dir := filepath.Dir(s.File)
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

// Limits are what an attempt at the case may use. Zero means that the case does
// not say.
type Limits struct {
	Wall, Idle, Cell time.Duration
	Turns, Actions   int
	Tokens           int64
	CostUSD          float64
}

// Timeouts are the limits on time of the public format, in the order of their
// precedence. Zero or less means that the case does not say.
type Timeouts struct {
	Agent    time.Duration // agent_timeout
	Timeout  time.Duration // timeout
	Metadata time.Duration // metadata.timeout_s
}

// DataFile is a file that the case needs and does not contain.
type DataFile struct {
	Name string // as the case has it
	Path string // absolute path of the local file; empty when no address prefix is known for it
	Base string // its name in the sandbox's data folder
}

// File is a text file that the case contains.
type File struct {
	Name string // relative, with slashes
	Text string
}

// WallLimit returns how long an attempt may take: limits.wall_s, else
// agent_timeout, timeout, metadata.timeout_s. Zero means that the case does not
// say.
func (c Case) WallLimit() time.Duration {
	for _, d := range []time.Duration{c.Limits.Wall, c.Timeouts.Agent, c.Timeouts.Timeout, c.Timeouts.Metadata} {
		if d > 0 {
			return d
		}
	}
	return 0
}

// CheckRun says what keeps these cases from being run together: an id that
// occurs twice, data that cannot lie in one sandbox, graders that are no list of
// objects or that [grading.Check] refuses. It reports all of it.
func CheckRun(cases []Case) error {
	var errs []error
	first := map[string]Source{}
	for _, c := range cases {
		if earlier, ok := first[c.ID]; ok {
			errs = append(errs, fmt.Errorf("%s: id %q is already taken by %s", c.Source, c.ID, earlier))
		} else {
			first[c.ID] = c.Source
		}
		errs = append(errs, c.runErrors...)
		for _, spec := range c.Graders {
			if err := grading.Check(spec); err != nil {
				errs = append(errs, fmt.Errorf("%s: case %q: %w", c.Source, c.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}
