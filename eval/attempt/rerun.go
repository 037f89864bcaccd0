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

// setupID is the id under which a second kernel is asked to run a case's setup.
const setupID = "setup"

// rerunFile is, in the attempt's folder, the notebook as it is when it was run
// again, by the last grader that asked for it.
const rerunFile = "rerun.ipynb"

// rerun runs the code cells of a notebook from top to bottom in a fresh kernel,
// as the first one was told to run them, and returns the notebook as it is then;
// it is also written to [rerunFile]. The kernel has a sandbox and a fence like
// the first one's, to begin with. A cell has the cell limit; all of it has the
// wall limit and the disk limit, past which the kernel is killed. Widgets have
// their first values. Paths into the sandbox are told as if they were into the
// first one. Nothing else is left of it.
func (a *attempt) rerun(ctx context.Context, cells []notebook.Cell) (shown *grading.Notebook, err error) {
	wall := seconds(cmp.Or(a.limits.WallS, DefaultLimits().WallS))
	ctx, cancel := context.WithTimeoutCause(ctx, wall, fmt.Errorf("the cells had %v together", wall))
	defer cancel()
	sandbox, err := session.NewWorkdir(a.cfg.Supervisor, a.cfg.WorkdirRoot, a.placeAgain)
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
	guarding.Go(func() { disk.Monitor(ctx, func(passed session.LimitExceeded) { kill(diskError(passed)) }) })
	return a.rerunIn(ctx, sandbox, disk, cells)
}

// rerunIn is rerun in a sandbox that is there; the end of ctx kills the kernel.
func (a *attempt) rerunIn(ctx context.Context, sandbox string, disk session.DiskQuota, cells []notebook.Cell) (shown *grading.Notebook, err error) {
	cfg := a.cfg.Kernel
	cfg.Workdir, cfg.Session, cfg.Environ = sandbox, a.journal.SessionID, a.cfg.Environ
	cfg.OnStuck = func(string) bool { return true }
	k, err := kernel.Start(ctx, a.cfg.Supervisor, cfg)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	a.reran = append(a.reran, k.Enforced)
	defer func() { err = errors.Join(err, stopKernel(ctx, k)) }()
	defer context.AfterFunc(ctx, k.Kill)()

	again := &again{kernel: k, fold: notebook.NewExecutions(notebook.ExecutionsConfig{}), decoder: protocol.NewEnvelopeDecoder(), limit: seconds(a.limits.CellS)}
	again.full = func() error {
		if passed, full := disk.Measure(ctx); full {
			return diskError(passed)
		}
		return context.Cause(ctx) // it ends the measuring, too
	}
	if err := again.begin(a.work.Case.Setup); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	why := again.all(cells)
	shown = shownNotebook(k.ReadyMessage.Language, cells, again.fold)
	for i := range shown.Cells {
		cell := &shown.Cells[i]
		cell.Text = strings.ReplaceAll(cell.Text, sandbox, a.session.Workdir())
		if cells[i].ID == again.broken {
			cell.Status = "error"
			cell.Text += "\n" + cmp.Or(context.Cause(ctx), why).Error() + "\n"
		}
	}
	return shown, a.writeRerun(k.ReadyMessage, cells, again.fold)
}

// diskError says that a sandbox has passed the limit that the first one has, too.
func diskError(passed session.LimitExceeded) error {
	return fmt.Errorf("the new sandbox has passed a limit: %v", passed)
}

// writeRerun writes [rerunFile]. Its frames are in no trace: a note stands for
// what of an output is too large to be kept in memory.
func (a *attempt) writeRerun(ready protocol.Ready, cells []notebook.Cell, fold *notebook.Executions) error {
	file, err := os.OpenFile(a.path(rerunFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	meta := notebook.FileMetadata{Language: ready.Language, LanguageVersion: ready.Version}
	err = notebook.WriteIPYNB(file, cells, fold, meta, nil)
	return errors.Join(err, file.Close())
}

// placeAgain is place, for a second sandbox: its files have been counted.
func (a *attempt) placeAgain(sandbox string) error {
	counted := a.tamper
	defer func() { a.tamper = counted }()
	return a.place(sandbox)
}

func stopKernel(ctx context.Context, k *kernel.Kernel) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subprocess.StopGrace+time.Second)
	defer cancel()
	return k.Stop(ctx)
}

// again is a notebook that is run again. It is for one goroutine, beside which
// only what [again.stopLate] calls uses it: kernel and fold, which allow that.
type again struct {
	kernel  *kernel.Kernel
	fold    *notebook.Executions
	decoder *protocol.EnvelopeDecoder
	limit   time.Duration // of a cell; 0: none
	full    func() error  // says that the sandbox has passed its limit, or why all of it must end
	frames  int64
	broken  string // the cell that was the last to run, as nothing could after it
}

// begin tells the kernel that it begins, and has it run the case's setup.
func (r *again) begin(setup string) error {
	if err := r.write(protocol.NewKernelInit(r.kernel.PID())); err != nil || setup == "" {
		return err
	}
	request := protocol.KernelRequest{Type: protocol.TypeExecuteCode, AgentTxID: setupID, Code: &setup}
	if err := r.write(request); err != nil {
		return err
	}
	defer r.stopLate(func() {
		_ = r.write(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: setupID}) // a dead kernel runs nothing
	})()
	for {
		kind, body, err := r.read()
		if err != nil {
			return err
		}
		if kind == protocol.TypeExecuteCodeResponse {
			return setupFailure(body)
		}
	}
}

// setupFailure says that the setup, which has run, did not end well.
func setupFailure(answer []byte) error {
	var done protocol.ExecuteCodeResponse
	err := json.Unmarshal(answer, &done)
	switch {
	case err != nil:
	case done.Status == protocol.StatusInterrupted:
		err = errors.New("it was stopped at the cell limit")
	default:
		err = setupError(done)
	}
	if err != nil {
		return fmt.Errorf("the case's setup failed: %w", err)
	}
	return nil
}

// all runs the cells, until the kernel has ended or the sandbox is full; then it
// says why.
func (r *again) all(cells []notebook.Cell) error {
	for _, cell := range cells {
		if cell.Type != notebook.CodeCell {
			continue
		}
		err := r.run(cell)
		if err == nil {
			err = r.full()
		}
		if err != nil {
			r.broken = cell.ID
			r.fold.MarkKernelEnded()
			return err
		}
	}
	return nil
}

// run runs a cell, and what it causes to run, to the end.
func (r *again) run(cell notebook.Cell) error {
	r.fold.MarkSent(cell.ID)
	if err := r.write(protocol.CellCommand{Type: protocol.TypeRunCell, CellID: cell.ID, Code: &cell.Source}); err != nil {
		return err
	}
	defer r.stopLate(func() {
		for _, id := range r.fold.OpenCells() {
			_ = r.write(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: id}) // a dead kernel runs nothing
		}
	})()
	for len(r.fold.OpenCells()) > 0 {
		if _, _, err := r.read(); err != nil {
			return err
		}
	}
	return nil
}

// stopLate calls stop when the cell limit has passed, unless what it returns is
// called before; that waits for a stop that is being made, so that it meets
// nothing which comes after. What the kernel then does not stop costs it its
// life.
func (r *again) stopLate(stop func()) (ended func()) {
	if r.limit <= 0 {
		return func() {}
	}
	stopped := make(chan struct{})
	late := time.AfterFunc(r.limit, func() {
		defer close(stopped)
		stop()
	})
	return func() {
		if !late.Stop() {
			<-stopped
		}
	}
}

// read takes in a frame of the kernel's.
func (r *again) read() (kind string, body []byte, err error) {
	body, err = r.kernel.Read()
	if err != nil {
		return "", nil, err
	}
	env, err := r.decoder.Decode(body)
	if err != nil {
		return "", nil, nil //nolint:nilerr // a frame that says nothing is passed over, as the session does
	}
	r.frames++
	_ = r.fold.ApplyFrame(r.frames, env, body) // likewise
	return env.Type, body, nil
}

func (r *again) write(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return r.kernel.Write(body)
}
