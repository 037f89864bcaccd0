package session

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"assay/internal/fence"
	"assay/internal/protocol"
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

// guardDisk measures what was added to the sandbox, each second, until ctx is
// done. Past the limit the trace says so; an evaluation ends by that. Elsewhere,
// and where the sandbox still grows while the evaluation ends, the kernel is
// killed and the consoles are told why.
func (s *Session) guardDisk(ctx context.Context) {
	began, err := fence.Usage(ctx, s.sandbox)
	if err != nil {
		s.log.Warn("the sandbox cannot be measured: nothing bounds what it takes on the disk", "error", err)
		return
	}
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	allowed, ends := s.cfg.Disk, s.cfg.Evaluation
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// What cannot be read is left out of the sum.
		held, _ := fence.Usage(ctx, s.sandbox)
		passed := Limit{Type: TypeLimit, Which: "disk", Configured: s.cfg.Disk, Measured: held - began}
		if passed.Measured <= allowed || ctx.Err() != nil {
			continue
		}
		// A kernel that starts after this finds the files of the last one.
		allowed = passed.Measured + s.cfg.Disk/8
		s.note(TypeLimit, passed)
		if ends {
			ends = false
			continue
		}
		s.router.Tell(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: "the kernel is killed, as its sandbox has passed a limit: " + passed.String()}})
		s.children().kernel.Kill()
	}
}
