package session

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

// diskMeasureInterval is the time between two looks at how much a sandbox holds.
const diskMeasureInterval = time.Second

// TypeLimitExceeded is the type of the trace's entry that says that the session has
// passed a limit of its own; see [LimitExceeded].
const TypeLimitExceeded = "limit"

// LimitExceeded is that entry.
type LimitExceeded struct {
	Type       string `json:"type"`
	Name       string `json:"which"` // "disk"
	Configured int64  `json:"configured"`
	Measured   int64  `json:"measured"`
}

func (l LimitExceeded) String() string {
	return fmt.Sprintf("%s: configured %s, measured %s", l.Name, units.BytesSize(float64(l.Configured)), units.BytesSize(float64(l.Measured)))
}

// DiskQuota bounds what is added to a working folder. It is safe for concurrent use.
type DiskQuota struct {
	workdir                  string
	initialBytes, limitBytes int64 // bytes
}

// NewDiskQuota returns a Disk that counts from what workdir holds now. limit
// is in bytes; 0 or less is none. The error says that workdir cannot be
// measured.
func NewDiskQuota(ctx context.Context, workdir string, limit int64) (DiskQuota, error) {
	if limit <= 0 {
		return DiskQuota{}, nil
	}
	began, err := sandbox.DiskUsage(ctx, workdir)
	return DiskQuota{workdir: workdir, initialBytes: began, limitBytes: limit}, err
}

// Measure returns what was added by now, and whether that is past the limit.
// What cannot be read is left out of the sum.
func (d DiskQuota) Measure(ctx context.Context) (measured LimitExceeded, passed bool) {
	if d.limitBytes <= 0 {
		return LimitExceeded{}, false
	}
	held, _ := sandbox.DiskUsage(ctx, d.workdir)
	measured = LimitExceeded{Type: TypeLimitExceeded, Name: "disk", Configured: d.limitBytes, Measured: held - d.initialBytes}
	return measured, measured.Measured > d.limitBytes
}

// Monitor measures each second, until ctx is done. It calls passed with the first
// measure past the limit, and again each time that an eighth of it has come on
// top since.
func (d DiskQuota) Monitor(ctx context.Context, passed func(LimitExceeded)) {
	if d.limitBytes <= 0 {
		return
	}
	tick := time.NewTicker(diskMeasureInterval)
	defer tick.Stop()
	allowed := d.limitBytes
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now, _ := d.Measure(ctx); now.Measured > allowed && ctx.Err() == nil {
			allowed = now.Measured + d.limitBytes/8
			passed(now)
		}
	}
}

// enforceDiskQuota measures what was added to the sandbox, until ctx is done. Past the
// limit the trace says so; an evaluation ends by that. Elsewhere, and where the
// sandbox still grows while the evaluation ends, the kernel is killed and the
// consoles are told why. A kernel that starts after that finds the files of the
// last one.
func (s *Session) enforceDiskQuota(ctx context.Context) {
	disk, err := NewDiskQuota(ctx, s.workdir, s.cfg.MaxDiskBytes)
	if err != nil {
		s.log.Warn("the sandbox cannot be measured: nothing bounds what it takes on the disk", "error", err)
		return
	}
	ends := s.cfg.IsEvaluation
	disk.Monitor(ctx, func(passed LimitExceeded) {
		s.recordEvent(TypeLimitExceeded, passed)
		if ends {
			ends = false
			return
		}
		s.router.SendToRunConsoles(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: "the kernel is killed, as its sandbox has passed a limit: " + passed.String()}})
		s.currentChildren().kernel.Kill()
	})
}
