package session

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

// diskEvery is the time between two looks at how much a sandbox holds.
const diskEvery = time.Second

// TypeLimit is the type of the trace's entry that says that the session has
// passed a limit of its own; see [Limit].
const TypeLimit = "limit"

// Limit is that entry.
type Limit struct {
	Type       string `json:"type"`
	Which      string `json:"which"` // "disk"
	Configured int64  `json:"configured"`
	Measured   int64  `json:"measured"`
}

func (l Limit) String() string {
	return fmt.Sprintf("%s: configured %s, measured %s", l.Which, units.BytesSize(float64(l.Configured)), units.BytesSize(float64(l.Measured)))
}

// Disk bounds what is added to a working folder. It is safe for concurrent use.
type Disk struct {
	workdir      string
	began, limit int64 // bytes
}

// NewDisk returns a Disk that counts from what workdir holds now. limit
// is in bytes; 0 or less is none. The error says that workdir cannot be
// measured.
func NewDisk(ctx context.Context, workdir string, limit int64) (Disk, error) {
	if limit <= 0 {
		return Disk{}, nil
	}
	began, err := sandbox.DiskUsage(ctx, workdir)
	return Disk{workdir: workdir, began: began, limit: limit}, err
}

// Measure returns what was added by now, and whether that is past the limit.
// What cannot be read is left out of the sum.
func (d Disk) Measure(ctx context.Context) (measured Limit, passed bool) {
	if d.limit <= 0 {
		return Limit{}, false
	}
	held, _ := sandbox.DiskUsage(ctx, d.workdir)
	measured = Limit{Type: TypeLimit, Which: "disk", Configured: d.limit, Measured: held - d.began}
	return measured, measured.Measured > d.limit
}

// Guard measures each second, until ctx is done. It calls passed with the first
// measure past the limit, and again each time that an eighth of it has come on
// top since.
func (d Disk) Guard(ctx context.Context, passed func(Limit)) {
	if d.limit <= 0 {
		return
	}
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	allowed := d.limit
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now, _ := d.Measure(ctx); now.Measured > allowed && ctx.Err() == nil {
			allowed = now.Measured + d.limit/8
			passed(now)
		}
	}
}

// guardDisk measures what was added to the sandbox, until ctx is done. Past the
// limit the trace says so; an evaluation ends by that. Elsewhere, and where the
// sandbox still grows while the evaluation ends, the kernel is killed and the
// consoles are told why. A kernel that starts after that finds the files of the
// last one.
func (s *Session) guardDisk(ctx context.Context) {
	disk, err := NewDisk(ctx, s.sandbox, s.cfg.Disk)
	if err != nil {
		s.log.Warn("the sandbox cannot be measured: nothing bounds what it takes on the disk", "error", err)
		return
	}
	ends := s.cfg.Evaluation
	disk.Guard(ctx, func(passed Limit) {
		s.note(TypeLimit, passed)
		if ends {
			ends = false
			return
		}
		s.router.Tell(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: "the kernel is killed, as its sandbox has passed a limit: " + passed.String()}})
		s.children().kernel.Kill()
	})
}
