package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
	"assay/testcases/grading"
)

// setupTxID is the id under which a second kernel is asked to run a case's setup.
const setupTxID = "setup"

// rerunFileName is, in the attempt's folder, the notebook as it is when it was run
// again, by the last grader that asked for it.
const rerunFileName = "rerun.ipynb"

// rerunNotebook runs the code cells of a notebook from top to bottom in a fresh kernel,
// as the first one was told to run them, and returns the notebook as it is then;
// it is also written to [rerunFileName]. The kernel has a sandbox and a fence like
// the first one's, to begin with. A cell has the cell limit; all of it has the
// wall limit and the disk limit, past which the kernel is killed. Widgets have
// their first values. Paths into the sandbox are told as if they were into the
// first one. Nothing else is left of it.
func (a *attempt) rerunNotebook(ctx context.Context, cells []notebook.Cell) (shown *grading.Notebook, err error) {
	wall := secondsToDuration(cmp.Or(a.limits.WallS, DefaultLimits().WallS))
	ctx, cancel := context.WithTimeoutCause(ctx, wall, fmt.Errorf("the cells had %v together", wall))
	defer cancel()
	sandbox, err := session.NewWorkdir(a.cfg.Supervisor, a.cfg.WorkdirRoot, a.stageFilesForRerun)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.RemoveWorkdir(a.cfg.Supervisor, sandbox)) }()
	disk, err := session.NewDiskQuota(ctx, sandbox, a.limits.DiskBytes)
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancelCause(ctx)
	var guarding sync.WaitGroup
	defer guarding.Wait()
	defer kill(nil)
	guarding.Go(func() { disk.Monitor(ctx, func(passed session.LimitExceeded) { kill(diskLimitError(passed)) }) })
	return a.rerunInWorkdir(ctx, sandbox, disk, cells)
}

// rerunInWorkdir is rerun in a sandbox that is there; the end of ctx kills the kernel.
func (a *attempt) rerunInWorkdir(ctx context.Context, sandbox string, disk session.DiskQuota, cells []notebook.Cell) (shown *grading.Notebook, err error) {
	cfg := a.cfg.Kernel
	cfg.Workdir, cfg.Session, cfg.Environ = sandbox, a.journal.SessionID, a.cfg.Environ
	cfg.OnStuck = func(string) bool { return true }
	k, err := kernel.Start(ctx, a.cfg.Supervisor, cfg)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	a.rerunEnforced = append(a.rerunEnforced, k.Enforced)
	defer func() { err = errors.Join(err, stopRerunKernel(ctx, k)) }()
	defer context.AfterFunc(ctx, k.Kill)()

	again := &rerunner{kernel: k, executions: notebook.NewExecutions(notebook.ExecutionsConfig{}), decoder: protocol.NewEnvelopeDecoder(), cellTimeout: secondsToDuration(a.limits.CellS)}
	again.checkLimits = func() error {
		if passed, full := disk.Measure(ctx); full {
			return diskLimitError(passed)
		}
		return context.Cause(ctx) // it ends the measuring, too
	}
	if err := again.initKernel(a.job.Case.Setup); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	why := again.runCells(cells)
	shown = gradingNotebook(k.ReadyMessage.Language, cells, again.executions)
	for i := range shown.Cells {
		cell := &shown.Cells[i]
		cell.Text = strings.ReplaceAll(cell.Text, sandbox, a.session.Workdir())
		if cells[i].ID == again.failedCell {
			cell.Status = "error"
			cell.Text += "\n" + cmp.Or(context.Cause(ctx), why).Error() + "\n"
		}
	}
	return shown, a.writeRerunFile(k.ReadyMessage, cells, again.executions)
}

// diskLimitError says that a sandbox has passed the limit that the first one has, too.
func diskLimitError(passed session.LimitExceeded) error {
	return fmt.Errorf("the new sandbox has passed a limit: %v", passed)
}

// writeRerunFile writes [rerunFileName]. Its frames are in no trace: a note stands for
// what of an output is too large to be kept in memory.
func (a *attempt) writeRerunFile(ready protocol.Ready, cells []notebook.Cell, fold *notebook.Executions) error {
	file, err := os.OpenFile(a.filePath(rerunFileName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	meta := notebook.FileMetadata{Language: ready.Language, LanguageVersion: ready.Version}
	err = notebook.WriteIPYNB(file, cells, fold, meta, nil)
	return errors.Join(err, file.Close())
}

// stageFilesForRerun is place, for a second sandbox: its files have been counted.
func (a *attempt) stageFilesForRerun(sandbox string) error {
	counted := a.markedFiles
	defer func() { a.markedFiles = counted }()
	return a.stageFiles(sandbox)
}

func stopRerunKernel(ctx context.Context, k *kernel.Kernel) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subprocess.StopGrace+time.Second)
	defer cancel()
	return k.Stop(ctx)
}

// rerunner is a notebook that is run again. It is for one goroutine, beside which
// only what [again.stopAfterTimeout] calls uses it: kernel and fold, which allow that.
type rerunner struct {
	kernel      *kernel.Kernel
	executions  *notebook.Executions
	decoder     *protocol.EnvelopeDecoder
	cellTimeout time.Duration // of a cell; 0: none
	checkLimits func() error  // says that the sandbox has passed its limit, or why all of it must end
	frameCount  int64
	failedCell  string // the cell that was the last to run, as nothing could after it
}

// initKernel tells the kernel that it begins, and has it run the case's setup.
func (r *rerunner) initKernel(setup string) error {
	if err := r.writeMessage(protocol.NewKernelInit(r.kernel.PID())); err != nil || setup == "" {
		return err
	}
	request := protocol.KernelRequest{Type: protocol.TypeExecuteCode, AgentTxID: setupTxID, Code: &setup}
	if err := r.writeMessage(request); err != nil {
		return err
	}
	defer r.stopAfterTimeout(func() {
		_ = r.writeMessage(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: setupTxID}) // a dead kernel runs nothing
	})()
	for {
		kind, body, err := r.readFrame()
		if err != nil {
			return err
		}
		if kind == protocol.TypeExecuteCodeResponse {
			return checkSetupAnswer(body)
		}
	}
}

// checkSetupAnswer says that the setup, which has run, did not end well.
func checkSetupAnswer(answer []byte) error {
	var done protocol.ExecuteCodeResponse
	err := json.Unmarshal(answer, &done)
	switch {
	case err != nil:
	case done.Status == protocol.StatusInterrupted:
		err = errors.New("it was stopped at the cell limit")
	default:
		err = executionError(done)
	}
	if err != nil {
		return fmt.Errorf("the case's setup failed: %w", err)
	}
	return nil
}

// runCells runs the cells, until the kernel has ended or the sandbox is full; then it
// says why.
func (r *rerunner) runCells(cells []notebook.Cell) error {
	for _, cell := range cells {
		if cell.Type != notebook.CodeCell {
			continue
		}
		err := r.runCell(cell)
		if err == nil {
			err = r.checkLimits()
		}
		if err != nil {
			r.failedCell = cell.ID
			r.executions.MarkKernelEnded()
			return err
		}
	}
	return nil
}

// runCell runs a cell, and what it causes to run, to the end.
func (r *rerunner) runCell(cell notebook.Cell) error {
	r.executions.MarkSent(cell.ID)
	if err := r.writeMessage(protocol.CellCommand{Type: protocol.TypeRunCell, CellID: cell.ID, Code: &cell.Source}); err != nil {
		return err
	}
	defer r.stopAfterTimeout(func() {
		for _, id := range r.executions.OpenCells() {
			_ = r.writeMessage(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: id}) // a dead kernel runs nothing
		}
	})()
	for len(r.executions.OpenCells()) > 0 {
		if _, _, err := r.readFrame(); err != nil {
			return err
		}
	}
	return nil
}

// stopAfterTimeout calls stop when the cell limit has passed, unless what it returns is
// called before; that waits for a stop that is being made, so that it meets
// nothing which comes after. What the kernel then does not stop costs it its
// life.
func (r *rerunner) stopAfterTimeout(stop func()) (ended func()) {
	if r.cellTimeout <= 0 {
		return func() {}
	}
	stopped := make(chan struct{})
	late := time.AfterFunc(r.cellTimeout, func() {
		defer close(stopped)
		stop()
	})
	return func() {
		if !late.Stop() {
			<-stopped
		}
	}
}

// readFrame takes in a frame of the kernel's.
func (r *rerunner) readFrame() (kind string, body []byte, err error) {
	body, err = r.kernel.Read()
	if err != nil {
		return "", nil, err
	}
	env, err := r.decoder.Decode(body)
	if err != nil {
		return "", nil, nil //nolint:nilerr // a frame that says nothing is passed over, as the session does
	}
	r.frameCount++
	_ = r.executions.ApplyFrame(r.frameCount, env, body) // likewise
	return env.Type, body, nil
}

func (r *rerunner) writeMessage(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return r.kernel.Write(body)
}
