// Package fence confines a process, and all that it starts, to a folder: which
// files it may read and write, whom it may talk to and signal, and how much it
// may use.
//
// [Rules] say what is wanted, a [Machine] what can be had, and [Machine.Plan]
// makes of both a [Plan], in which everything is decided. Two doors carry a plan
// out, step by step and alike: [Exec], for what is executed, and the Python
// kernel's module fence, for what is forked. A step that fails is an error, so
// nothing runs with less of a fence than its plan says.
//
// What a plan cannot hold on a machine is told by [Machine.Enforced] and, for
// people, by [DescribeMissing].
package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Network says whom a process may talk to over a network.
type Network string

// The values of a [Network]. The empty one is NetworkOn.
const (
	NetworkOn       Network = "on"       // everybody
	NetworkLoopback Network = "loopback" // what runs behind the same fence
	NetworkOff      Network = "off"      // nobody
)

// Rules is what a fenced process and all that it starts may do. Beside what is
// named here it may read and write a few devices, such as the null device.
type Rules struct {
	// Root may be read, written and executed. HOME and TMPDIR should lie in it.
	// Required, absolute.
	Workdir string `json:"root"`

	// Read names files and folders that may be read and executed, absolute; one
	// that is missing is passed over. [SystemPaths] has those that everything needs.
	ReadPaths []string `json:"read"`

	// Write names more that may be written too, absolute; one that is missing is
	// passed over.
	WritePaths []string `json:"write"`

	Network Network `json:"network"`

	// AllowUnixSockets allows sockets of the Unix family with NetworkOff too. Socket
	// pairs are always allowed.
	AllowUnixSockets bool `json:"unix_sockets"`

	// Memory is how many bytes each process may allocate, RLIMIT_DATA: what it
	// shares with others or maps from files does not count. 0 is no limit.
	MaxMemoryBytes int64 `json:"memory"`

	// Processes is how many there may be, threads counted; 0 is no limit. A plan
	// does not bind root, whom only [PidsLimit] can; and of a user without a namespace of
	// his own it counts all processes, so that as many are added as the system has.
	MaxProcesses int `json:"processes"`

	MaxOpenFiles int   `json:"open_files"` // descriptors of each process; 0: no limit
	MaxFileBytes int64 `json:"file_size"`  // bytes of each file; 0: no limit
}

func (r Rules) validate() error {
	for _, path := range slices.Concat([]string{r.Workdir}, r.ReadPaths, r.WritePaths) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("fence: the path %q is not absolute", path)
		}
	}
	switch r.Network {
	case "", NetworkOn, NetworkLoopback, NetworkOff:
	default:
		return fmt.Errorf("fence: the network is %q, and must be on, loopback or off", r.Network)
	}
	if r.MaxMemoryBytes < 0 || r.MaxProcesses < 0 || r.MaxOpenFiles < 0 || r.MaxFileBytes < 0 {
		return fmt.Errorf("fence: a limit is below 0")
	}
	return nil
}
