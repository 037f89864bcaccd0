package subprocess

import (
	"sync"

	"assay/internal/sandbox"
)

// MemoryKill says why Linux has killed a subprocess when memory ran out. The zero value: it was not killed
// for that.
type MemoryKill int

const (
	// OverLimit: it and what it has started had used more than [Spec.MaxMemoryBytes].
	OverLimit MemoryKill = iota + 1
	// OverShare: all subprocesses together had used more than [Config.MaxMemoryBytes], and this one at least its
	// share, which is that number divided by how many subprocesses there were at once while it ran.
	OverShare
	// UnderShare: the same, but this one had used less than its share, so that others are the cause.
	UnderShare
)

// String continues "was killed by SIGKILL".
func (k MemoryKill) String() string {
	switch k {
	case OverLimit:
		return ", because it and what it has started used more memory than they may (--memory)"
	case OverShare:
		return ", because all kernels and agents together used more memory than there is for them; it used more than its share"
	case UnderShare:
		return ", because all kernels and agents together used more memory than there is for them; others took it, it used less than its share"
	default:
		return ""
	}
}

// memoryMargin is how much less than a limit the most that was used may be when Linux kills for it: it
// counts pages in batches.
const memoryMargin = 1 << 20

// commonMemory limits what all subprocesses with a limit of memory use together.
type commonMemory struct {
	maxBytes int64            // Config.MaxMemoryBytes
	cgroups  *cgroupTree      // the limit is set on its root, if cgroups of version 2 limit memory
	onMade   func(dir string) // called once, when the cgroup in this folder has the limit

	mu    sync.Mutex
	limit *sandbox.CgroupLimit // nil: not made yet, or that failed
}

// limitBelow makes a limit of memory for one subprocess, within the common one where that can be made.
func (c *commonMemory) limitBelow(maxBytes int64, cgroupDir string) (*sandbox.CgroupLimit, error) {
	if c.maxBytes <= 0 {
		return sandbox.NewMemoryLimit(maxBytes, cgroupDir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit == nil {
		limit, err := sandbox.NewMemoryLimit(c.maxBytes, c.cgroups.rootDir())
		if err != nil {
			return nil, err
		}
		c.limit = limit
		c.onMade(limit.Dir())
	}
	return c.limit.NewMemoryLimitBelow(maxBytes, cgroupDir)
}

// remove removes the common limit, after those of all subprocesses.
func (c *commonMemory) remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit == nil {
		return nil
	}
	return c.limit.Remove()
}

// limitMemory puts the process under a cgroup's limit of memory. What it has used before does not
// count.
func (p *Process) limitMemory(maxBytes int64) {
	if maxBytes <= 0 {
		return
	}
	limit, err := p.supervisor.memory.limitBelow(maxBytes, p.cgroupDir)
	p.memoryLimit = limit
	p.applyLimit(sandbox.EnforcesTotalMemory, limit, err)
}

// memoryKill returns why the process, which a SIGKILL has ended, was killed to get memory.
func (p *Process) memoryKill() MemoryKill {
	if p.memoryLimit == nil || p.memoryLimit.OOMKills() == 0 {
		return 0
	}
	used := p.memoryLimit.PeakBytes() + memoryMargin
	switch share := p.memoryShare(); {
	case share == 0, used >= p.memoryLimit.Max(), used == memoryMargin: // the last: it is not known
		return OverLimit
	case used >= share:
		return OverShare
	default:
		return UnderShare
	}
}

// HasUsedMemoryShare reports whether the process and what it has started have used, at any time, at least their share
// of [Config.MaxMemoryBytes]; see [OverShare]. It returns false if that is not known.
func (p *Process) HasUsedMemoryShare() bool {
	if p.memoryLimit == nil {
		return false
	}
	share := p.memoryShare()
	return share > 0 && p.memoryLimit.PeakBytes()+memoryMargin >= share
}

// memoryShare returns [Config.MaxMemoryBytes] divided by the highest number of subprocesses that were under it at
// once while this one ran, but at most half of it. It returns 0 if there is no such limit.
func (p *Process) memoryShare() int64 {
	s := p.supervisor
	s.liveMu.Lock()
	defer s.liveMu.Unlock()
	return s.memory.maxBytes / max(p.memorySharers, 2) // one that ran alone has not used all: cached files of others count, too
}

// countMemorySharersLocked tells each subprocess with a limit of memory how many there are, after one more was
// started. The caller must hold liveMu.
func (s *Supervisor) countMemorySharersLocked() {
	count := int64(0)
	for p := range s.live {
		if p.memoryLimit != nil {
			count++
		}
	}
	for p := range s.live {
		p.memorySharers = max(p.memorySharers, count)
	}
}
