package session

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"assay/agent"
	"assay/internal/protocol"
	"assay/internal/sandbox"
)

// diskMeasureInterval is the time between two measurements of a working folder's size.
const diskMeasureInterval = time.Second

// TypeLimitExceeded is the type of the trace entry which says that the session has exceeded a
// limit; its body is a [LimitExceeded].
const TypeLimitExceeded = "limit"

// LimitExceeded is the JSON body of a trace entry of type [TypeLimitExceeded]: which limit was
// exceeded, its configured and its measured value.
type LimitExceeded struct {
	Type            string `json:"type"`       // TypeLimitExceeded
	LimitName       string `json:"which"`      // "disk"
	ConfiguredBytes int64  `json:"configured"` // bytes
	MeasuredBytes   int64  `json:"measured"`   // bytes
}

// String returns the exceeded limit for people, such as "disk: configured 2GiB, measured
// 2.1GiB".
func (l LimitExceeded) String() string {
	return fmt.Sprintf("%s: configured %s, measured %s", l.LimitName, units.BytesSize(float64(l.ConfiguredBytes)), units.BytesSize(float64(l.MeasuredBytes)))
}

// DiskQuota limits how many bytes are added to a folder after it was prepared. The zero
// value has no limit. It is safe for concurrent use.
type DiskQuota struct {
	folder       string
	initialBytes int64 // size of the folder when the quota was made
	limitBytes   int64 // 0 or less: no limit

	// heldBytes returns how much deleted files occupy that are still open. Nil: none are.
	heldBytes func() int64
}

// CountingHeld returns a quota that also counts the deleted files which a process, and what it has started,
// holds open. process returns that of the moment, nil if there is none.
func (d DiskQuota) CountingHeld(process func() HoldingProcess) DiskQuota {
	d.heldBytes = func() int64 {
		if p := process(); p != nil {
			return p.DeletedBytes(d.folder)
		}
		return 0
	}
	return d
}

// HoldingProcess is a [subprocess.Process], of a kernel or an agent.
type HoldingProcess interface{ DeletedBytes(dir string) int64 }

// NewDiskQuota returns a quota that allows limitBytes in addition to what the folder
// contains now; 0 or less means no limit. It fails if the folder cannot be measured.
func NewDiskQuota(ctx context.Context, folder string, limitBytes int64) (DiskQuota, error) {
	if limitBytes <= 0 {
		return DiskQuota{}, nil
	}
	initialBytes, err := sandbox.DiskUsage(ctx, folder)
	return DiskQuota{folder: folder, initialBytes: initialBytes, limitBytes: limitBytes}, err
}

// Measure returns how many bytes have been added to the folder, and whether that exceeds the
// limit. See CountingHeld for files that have been deleted. Files that cannot be read do not count.
func (d DiskQuota) Measure(ctx context.Context) (measured LimitExceeded, isExceeded bool) {
	if d.limitBytes <= 0 {
		return LimitExceeded{}, false
	}
	usedBytes, _ := sandbox.DiskUsage(ctx, d.folder)
	if d.heldBytes != nil {
		usedBytes += d.heldBytes()
	}
	measured = LimitExceeded{Type: TypeLimitExceeded, LimitName: "disk", ConfiguredBytes: d.limitBytes, MeasuredBytes: usedBytes - d.initialBytes}
	return measured, measured.MeasuredBytes > d.limitBytes
}

// Monitor measures the folder each second until ctx ends. It calls onExceeded with the first
// measurement above the limit, and again whenever the folder has grown by another eighth of the
// limit since the last call.
func (d DiskQuota) Monitor(ctx context.Context, onExceeded func(LimitExceeded)) {
	if d.limitBytes <= 0 {
		return
	}
	ticker := time.NewTicker(diskMeasureInterval)
	defer ticker.Stop()
	thresholdBytes := d.limitBytes
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if measured, _ := d.Measure(ctx); measured.MeasuredBytes > thresholdBytes && ctx.Err() == nil {
			thresholdBytes = measured.MeasuredBytes + d.limitBytes/8
			onExceeded(measured)
		}
	}
}

// measureInitialDisk makes the disk quota of the working folder, before anything can write to it.
func (s *Session) measureInitialDisk(ctx context.Context) {
	quota, err := NewDiskQuota(ctx, s.workdir, s.cfg.MaxDiskBytes)
	s.setDiskQuotaEnforced(err == nil || ctx.Err() != nil)
	if err != nil {
		s.log.Warn("the working folder cannot be measured: its size is not limited", "error", err)
		return
	}
	s.diskQuota = quota
}

// enforceDiskQuota measures the working folder each second until ctx ends, and records in the
// trace when it exceeds the limit. Without an evaluation the kernel is then killed at once and
// the consoles get the reason. In an evaluation the attempt ends, and the kernel is left alive
// to be collected and graded, unless the folder goes on growing. The files stay for the next
// kernel.
func (s *Session) enforceDiskQuota(ctx context.Context) {
	isKernelSpared := s.cfg.IsEvaluation
	quota := s.diskQuota.CountingHeld(func() HoldingProcess {
		if k := s.currentChildren().kernel; k != nil {
			return k
		}
		return nil
	})
	quota.Monitor(ctx, func(exceeded LimitExceeded) {
		s.recordEvent(TypeLimitExceeded, exceeded)
		if isKernelSpared {
			isKernelSpared = false
			return
		}
		s.router.SendToRunConsoles(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{
			Message: "the kernel is killed because its working folder exceeds a limit: " + exceeded.String(),
		}})
		s.currentChildren().kernel.Kill()
	})
}

// enforceAgentDiskQuota measures the private folder of the agent, if it has one, as enforceDiskQuota does
// the working folder, with the same limit. What the agent's HOME has at the start does not count. Without
// an evaluation the agent is killed when the folder exceeds the limit.
func (s *Session) enforceAgentDiskQuota(ctx context.Context) {
	cfg := s.cfg.Agent
	if cfg.PrivateRoot == "" {
		return
	}
	quota := DiskQuota{folder: agent.PrivateDir(cfg.PrivateRoot, s.cfg.ID), limitBytes: s.cfg.MaxDiskBytes}
	if cfg.HomeSeed != "" {
		quota.initialBytes, _ = sandbox.DiskUsage(ctx, cfg.HomeSeed) // what cannot be read is not copied either
	}
	quota = quota.CountingHeld(func() HoldingProcess {
		if a := s.currentChildren().agent; a != nil {
			return a
		}
		return nil
	})
	quota.Monitor(ctx, func(exceeded LimitExceeded) {
		s.recordEvent(TypeLimitExceeded, exceeded)
		if a := s.currentChildren().agent; a != nil && !s.cfg.IsEvaluation {
			a.Kill()
		}
	})
}

// setDiskQuotaEnforced adds to what EnforcedRules returns whether the disk quota is enforced.
func (s *Session) setDiskQuotaEnforced(isEnforced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enforced = append(s.enforced, func() map[string]bool { return map[string]bool{"disk": isEnforced} })
}
