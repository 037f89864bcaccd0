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
	"sync/atomic"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/kernel"
	"assay/testcases/grading"
)

// setupTxID is the tx_id of the execute_code request that runs a case's setup in the kernel of
// a rerun.
const setupTxID = "setup"

// rerunFileName is the name of the file in the attempt's folder that has the notebook after a
// grader has run it again. If several graders do so, the last one's notebook stays.
const rerunFileName = "rerun.ipynb"

// rerunNotebook runs the setup and the code cells of a notebook from top to bottom in a new
// kernel. It returns the resulting notebook and writes it to [rerunFileName]. The kernel has
// the same sandbox as the first one and a new working folder with the case's files; widgets
// have their initial values. Each cell has the cell limit; all cells together have the wall
// limit and the disk limit, after which the kernel is killed. In outputs, paths of the new
// working folder are replaced by those of the first one. Before, the first kernel is killed, and
// meanwhile its working folder is hidden, so that neither can give the new one what the cells do not make:
// even a kernel that stands still holds locks. It fails if the kernel cannot be started or is killed
// because others take the memory, the setup fails, or a file cannot be written; a cell that fails is no error.
func (a *attempt) rerunNotebook(ctx context.Context, cells []notebook.Cell) (result *grading.Notebook, err error) {
	if err := a.session.KillKernel(); err != nil {
		return nil, err
	}
	show, err := a.session.HideWorkdir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, show()) }()
	timeout := secondsToDuration(cmp.Or(a.limits.WallTimeoutS, DefaultLimits().WallTimeoutS))
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the cells had %v in total", timeout))
	defer cancel()
	workdir, err := session.NewWorkdir(a.cfg.Supervisor, a.cfg.WorkdirRoot, a.stageFilesForRerun)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.RemoveWorkdir(a.cfg.Supervisor, workdir)) }()
	quota, err := session.NewDiskQuota(ctx, workdir, a.limits.MaxDiskBytes)
	if err != nil {
		return nil, err
	}
	var running atomic.Pointer[kernel.Kernel]
	quota = quota.CountingHeld(func() session.HoldingProcess {
		if k := running.Load(); k != nil {
			return k
		}
		return nil
	})
	ctx, kill := context.WithCancelCause(ctx)
	var monitor sync.WaitGroup
	defer monitor.Wait()
	defer kill(nil)
	monitor.Go(func() { quota.Monitor(ctx, func(exceeded session.LimitExceeded) { kill(diskLimitError(exceeded)) }) })
	return a.rerunInWorkdir(ctx, workdir, quota, cells, running.Store)
}

// rerunInWorkdir does the work of rerunNotebook in the working folder that was made for it.
// When ctx ends the kernel is killed. onStart is called with the kernel.
func (a *attempt) rerunInWorkdir(ctx context.Context, workdir string, quota session.DiskQuota, cells []notebook.Cell, onStart func(*kernel.Kernel)) (result *grading.Notebook, err error) {
	cfg := a.cfg.Kernel
	cfg.Workdir, cfg.Session, cfg.Environ, cfg.Sandbox = workdir, a.journal.SessionID, a.cfg.Environ, a.rerunSandbox()
	cfg.OnStuck = func(string) bool { return true }
	k, err := kernel.Start(ctx, a.cfg.Supervisor, cfg)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	onStart(k)
	a.rerunEnforced = append(a.rerunEnforced, k.EnforcedLimits)
	defer func() { err = errors.Join(err, stopRerunKernel(ctx, k)) }()
	defer context.AfterFunc(ctx, k.Kill)()

	r := &rerunner{kernel: k, executions: notebook.NewExecutions(notebook.ExecutionsConfig{}), decoder: protocol.NewEnvelopeDecoder(), cellTimeout: secondsToDuration(a.limits.CellTimeoutS)}
	r.checkLimits = func() error {
		if measured, isExceeded := quota.Measure(ctx); isExceeded {
			return diskLimitError(measured)
		}
		return context.Cause(ctx) // the end of ctx also ends the measurement
	}
	if err := r.initKernel(a.job.Case.Setup); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	runErr := r.runCells(cells)
	if othersTookMemory(runErr) {
		return nil, runErr
	}
	result = gradingNotebook(k.ReadyMessage.Language, cells, r.executions)
	for i := range result.Cells {
		cell := &result.Cells[i]
		cell.Text = strings.ReplaceAll(cell.Text, workdir, a.session.Workdir())
		if cells[i].ID == r.failedCell {
			cell.Status = "error"
			cell.Text += "\n" + cmp.Or(context.Cause(ctx), runErr).Error() + "\n"
		}
	}
	return result, a.writeRerunFile(k.ReadyMessage, cells, r.executions)
}

// rerunSandbox returns the sandbox of the kernel that runs the notebook again. It can connect to
// others only if the case names the network "on": a program of the agent could otherwise give the
// notebook what its cells do not make.
func (a *attempt) rerunSandbox() *sandbox.Template {
	template := a.cfg.Kernel.Sandbox
	if template == nil || a.job.Case.Network == string(sandbox.NetworkOn) || template.Rules.EffectiveNetwork() != sandbox.NetworkOn {
		return template
	}
	return template.WithNetwork(sandbox.NetworkLoopback)
}

// diskLimitError returns the error which says that running the notebook again has exceeded the
// disk limit, with both sizes.
func diskLimitError(exceeded session.LimitExceeded) error {
	return fmt.Errorf("the new working folder exceeds a limit: %v", exceeded)
}

// writeRerunFile writes the notebook that was run again to [rerunFileName]. A rerun has no
// trace, so outputs that are too large for memory are replaced by a note. It fails if the file
// cannot be written.
func (a *attempt) writeRerunFile(ready protocol.Ready, cells []notebook.Cell, executions *notebook.Executions) error {
	file, err := os.OpenFile(a.filePath(rerunFileName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	meta := notebook.FileMetadata{Language: ready.Language, LanguageVersion: ready.Version}
	content := notebook.IPYNB{Cells: cells, Executions: executions, Metadata: meta, Redactor: a.redactor}
	return errors.Join(content.Write(file), file.Close())
}

// stageFilesForRerun puts the case's files into the working folder of a rerun, like stageFiles,
// but without counting completion markers again.
func (a *attempt) stageFilesForRerun(workdir string) error {
	markedFiles := a.markedFiles
	defer func() { a.markedFiles = markedFiles }()
	return a.stageFiles(workdir)
}

// stopRerunKernel stops the kernel of a rerun and everything that it started, even if ctx has
// ended. It takes at most 3 s. An error says what may be left running.
func stopRerunKernel(ctx context.Context, k *kernel.Kernel) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subprocess.StopGrace+time.Second)
	defer cancel()
	return k.Stop(ctx)
}

// rerunner runs the cells of a notebook again in a new kernel. Only one goroutine may use it;
// the stop functions that it passes to stopAfterTimeout run in another one and use only kernel
// and executions, which are safe for concurrent use.
type rerunner struct {
	kernel      *kernel.Kernel
	executions  *notebook.Executions
	decoder     *protocol.EnvelopeDecoder
	cellTimeout time.Duration // after which a cell is interrupted; 0: none
	checkLimits func() error  // returns why no further cell may run; nil: one may
	frameCount  int64         // frames of the kernel so far
	failedCell  string        // the cell during which the rerun ended early; empty: it did not
}

// initKernel sends the new kernel its init message and runs the case's setup. It fails if the
// kernel ends, or if the setup raises or takes longer than cellTimeout.
func (r *rerunner) initKernel(setup string) error {
	if err := r.writeMessage(protocol.NewKernelInit(r.kernel.PID())); err != nil || setup == "" {
		return err
	}
	request := protocol.KernelRequest{Type: protocol.TypeExecuteCode, AgentTxID: setupTxID, Code: &setup}
	if err := r.writeMessage(request); err != nil {
		return err
	}
	defer r.stopAfterTimeout(func() {
		_ = r.writeMessage(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: setupTxID}) // fails if the kernel is dead, which runs nothing
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

// checkSetupAnswer returns an error if the kernel's response to the setup code says that it
// raised or was interrupted.
func checkSetupAnswer(body []byte) error {
	var response protocol.ExecuteCodeResponse
	err := json.Unmarshal(body, &response)
	switch {
	case err != nil:
	case response.Status == protocol.StatusInterrupted:
		err = errors.New("it was stopped at the cell limit")
	default:
		err = executionError(response)
	}
	if err != nil {
		return fmt.Errorf("the case's setup failed: %w", err)
	}
	return nil
}

// runCells runs the notebook's code cells in order. It fails if the kernel ends or a limit of
// the whole rerun is exceeded.
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

// runCell runs one cell and waits until no cell runs any more, because one cell may make others
// run. After cellTimeout it interrupts them. It fails if the kernel ends; a cell that raises is
// no error.
func (r *rerunner) runCell(cell notebook.Cell) error {
	r.executions.MarkRunSent(cell.ID)
	if err := r.writeMessage(protocol.CellCommand{Type: protocol.TypeRunCell, CellID: cell.ID, Code: &cell.Source}); err != nil {
		return err
	}
	defer r.stopAfterTimeout(func() {
		for _, id := range r.executions.CellsWithOpenRuns() {
			_ = r.writeMessage(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: id}) // fails if the kernel is dead, which runs nothing
		}
	})()
	for len(r.executions.CellsWithOpenRuns()) > 0 {
		if _, _, err := r.readFrame(); err != nil {
			return err
		}
	}
	return nil
}

// stopAfterTimeout starts a timer that calls stop, which interrupts the kernel, after
// cellTimeout. The returned cancel stops the timer and waits for a call of stop that has begun,
// so that it cannot interrupt the code that runs next. If the code does not stop, the kernel is
// killed; see kernel.Config.OnStuck.
func (r *rerunner) stopAfterTimeout(stop func()) (cancel func()) {
	if r.cellTimeout <= 0 {
		return func() {}
	}
	stopped := make(chan struct{})
	timer := time.AfterFunc(r.cellTimeout, func() {
		defer close(stopped)
		stop()
	})
	return func() {
		if !timer.Stop() {
			<-stopped
		}
	}
}

// readFrame reads the next frame of the kernel and applies it to the executions. kind is the
// frame's type, empty if the frame is malformed. It fails if the kernel has ended.
func (r *rerunner) readFrame() (kind string, body []byte, err error) {
	body, err = r.kernel.Read()
	if err != nil {
		return "", nil, err
	}
	env, err := r.decoder.Decode(body)
	if err != nil {
		return "", nil, nil //nolint:nilerr // malformed frames are ignored, as in a session
	}
	r.frameCount++
	_ = r.executions.ApplyFrame(r.frameCount, env, body) // as above
	return env.Type, body, nil
}

// writeMessage sends the kernel of the rerun a message. It fails if the kernel has ended.
func (r *rerunner) writeMessage(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return r.kernel.Write(body)
}
