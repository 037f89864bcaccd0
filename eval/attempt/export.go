package attempt

import (
	"cmp"
	"context"
	_ "embed" // for the programs that run in the kernels
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/kernel"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// exportProgram runs in the agent's kernel, loadProgram in the one that the agent has never touched.
var (
	//go:embed export_globals.py
	exportProgram string
	//go:embed load_globals.py
	loadProgram string
)

// filesFolderName is the folder below the check kernel's working folder with the copy of the agent's.
const filesFolderName = "files"

// exportForCheck starts a kernel that no code of the agent has touched, and gives it copies of those
// globals of the agent's kernel that the sources use, and of the working folder, which it has entered.
// What the agent's code has changed in its own kernel can thus change the values, but not the check. It
// fails if one of the kernels fails, or with the cause of ctx; with a [*pyvalue.Error] of kind not_data if
// that can be due to the agent's code or values. The caller closes the result.
func (a *attempt) exportForCheck(ctx context.Context, sources []string) (grading.Exported, error) {
	c, err := a.startCheckKernel(ctx)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if err := c.transferGlobals(ctx, sources); err != nil {
		c.Close()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if err := c.watchDisk(ctx); err != nil {
		c.Close()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return c, nil
}

// checkKernel is a Python kernel for the checks of one grader.
type checkKernel struct {
	attempt *attempt
	workdir string
	kernel  *kernel.Kernel
	decoder *protocol.EnvelopeDecoder
	notData map[string]string // by source: which global could not be copied, and why

	stopWatching func()
	diskExceeded atomic.Pointer[session.LimitExceeded] // nil: the working folder is within its limit
}

// startCheckKernel starts a kernel in a new, empty working folder, with no network.
func (a *attempt) startCheckKernel(ctx context.Context) (*checkKernel, error) {
	workdir, err := session.NewWorkdir(a.cfg.Supervisor, a.cfg.WorkdirRoot, nil)
	if err != nil {
		return nil, err
	}
	cfg := a.cfg.Kernel
	cfg.Workdir, cfg.Session, cfg.Environ = workdir, a.journal.SessionID, a.cfg.Environ
	if cfg.Sandbox != nil && cfg.Sandbox.Rules.EffectiveNetwork() == sandbox.NetworkOn {
		cfg.Sandbox = cfg.Sandbox.WithNetwork(sandbox.NetworkLoopback)
	}
	cfg.OnStuck = func(string) bool { return true }
	c := &checkKernel{attempt: a, workdir: workdir, decoder: protocol.NewEnvelopeDecoder(), notData: map[string]string{}, stopWatching: func() {}}
	if c.kernel, err = kernel.Start(ctx, a.cfg.Supervisor, cfg); err != nil {
		return nil, errors.Join(err, session.RemoveWorkdir(a.cfg.Supervisor, workdir))
	}
	a.rerunEnforced = append(a.rerunEnforced, c.kernel.EnforcedLimits)
	if err := c.write(protocol.NewKernelInit(c.kernel.PID())); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close stops the kernel and removes its working folder. Failures are only logged.
func (c *checkKernel) Close() {
	c.stopWatching()
	ctx, cancel := context.WithTimeout(context.Background(), subprocess.StopGrace+time.Second)
	defer cancel()
	if err := errors.Join(c.kernel.Stop(ctx), session.RemoveWorkdir(c.attempt.cfg.Supervisor, c.workdir)); err != nil {
		c.attempt.log.Warn("the kernel of a check could not be stopped cleanly", "error", err)
	}
}

// watchDisk kills the kernel when its working folder grows beyond the limit: a check may run programs of the agent.
func (c *checkKernel) watchDisk(ctx context.Context) error {
	quota, err := session.NewDiskQuota(ctx, c.workdir, c.attempt.limits.MaxDiskBytes)
	if err != nil {
		return err
	}
	quota = quota.CountingHeld(func() session.HoldingProcess { return c.kernel })
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var monitor sync.WaitGroup
	monitor.Go(func() {
		quota.Monitor(watching, func(exceeded session.LimitExceeded) {
			c.diskExceeded.Store(&exceeded)
			c.kernel.Kill()
		})
	})
	c.stopWatching = func() {
		stop()
		monitor.Wait()
	}
	return nil
}

// transferGlobals copies the globals that the sources use, and the working folder.
func (c *checkKernel) transferGlobals(ctx context.Context, sources []string) error {
	var namesOfSources [][]string
	if err := c.call(ctx, &namesOfSources, loadProgram, "__assay_names__", sources); err != nil {
		return err
	}
	names := append([]string{}, slices.Concat(namesOfSources...)...) // without names not nil, which is null in JSON
	slices.Sort(names)
	names = slices.Compact(names)
	exported := filepath.Join(".assay", "export-"+uuid.NewString())
	if err := c.attempt.exportGlobals(ctx, names, exported); err != nil {
		return err
	}
	files := filepath.Join(c.workdir, filesFolderName)
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	if err := c.attempt.copyWorkdir(ctx, files); err != nil {
		if _, isIncomplete := errors.AsType[incompleteCopyError](err); isIncomplete {
			return notDataError(err)
		}
		return err
	}
	for _, name := range settingsFileNames() {
		if err := os.RemoveAll(filepath.Join(files, name)); err != nil {
			return err
		}
	}
	var refused map[string]string
	if err := c.call(ctx, &refused, "", "__assay_load__", names, filepath.Join(files, exported), files); err != nil {
		if othersTookMemory(err) && !c.attempt.session.HasKernelUsedMemoryShare() {
			return err
		}
		return notDataError(err)
	}
	for i, source := range sources {
		for _, name := range namesOfSources[i] {
			if why, isRefused := refused[name]; isRefused && c.notData[source] == "" {
				c.notData[source] = fmt.Sprintf("the global %s cannot be copied for the check: %s; a check with live: true needs no copy", name, why)
			}
		}
	}
	return nil
}

// settingsFileNames returns the names of files that libraries read from the current folder and that can
// make them run code. The agent's are not for a check.
func settingsFileNames() []string { return []string{"matplotlibrc"} }

// exportGlobals has the agent's kernel write copies of these globals to a new folder, whose path is
// relative to the working folder.
func (a *attempt) exportGlobals(ctx context.Context, names []string, folder string) error {
	code, err := pythonCall(exportProgram, "__assay_export__", names, filepath.Join(a.session.Workdir(), folder))
	if err != nil {
		return err
	}
	done, err := kernelExecutor{a}.Execute(ctx, code)
	if err == nil && done.Status != protocol.StatusOK {
		err = errors.New(cmp.Or(done.Exception, done.Status))
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if othersTookMemory(a.session.KernelError()) {
		return err
	}
	return notDataError(err) // also if the kernel has ended: only code of the agent runs in it
}

// notDataError returns the error of a check whose values could not be copied because of err.
func notDataError(err error) error {
	return &pyvalue.Error{Kind: "not_data", Text: fmt.Sprintf("the kernel's globals could not be copied for the check: %v", err)}
}

// pythonCall returns Python code that runs program and then calls one of its functions, with arguments
// that JSON and Python write alike: strings and lists of them.
func pythonCall(program, function string, arguments ...any) (string, error) {
	var texts []string
	for _, argument := range arguments {
		text, err := json.Marshal(argument)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return program + "\n" + function + "(" + strings.Join(texts, ", ") + ")\n", nil
}

// call runs program in the check kernel, calls one of its functions, and decodes the result, which is
// JSON, into result.
func (c *checkKernel) call(ctx context.Context, result any, program, function string, arguments ...any) error {
	code, err := pythonCall(program, function, arguments...)
	if err != nil {
		return err
	}
	response, err := c.execute(ctx, code, false)
	if err != nil {
		return err
	}
	if response.Result == nil {
		return fmt.Errorf("%s failed: %s", function, cmp.Or(response.Exception, response.Status))
	}
	return json.Unmarshal([]byte(*response.Result), result)
}

// Execute runs a grader's code. See [grading.Kernel]. If the kernel ends, that is due to the values.
func (c *checkKernel) Execute(ctx context.Context, code string) (grading.Execution, error) {
	response, err := c.execute(ctx, code, true)
	if exceeded := c.diskExceeded.Load(); err != nil && exceeded != nil {
		err = diskLimitError(*exceeded)
	}
	if err != nil && ctx.Err() == nil {
		err = &pyvalue.Error{Kind: "probe", Text: fmt.Sprintf("the kernel of the check: %v", err)}
	}
	if err != nil {
		return grading.Execution{}, err
	}
	return newGradingExecution(response), nil
}

// NotData returns why a global that source uses could not be copied, "" if all could.
func (c *checkKernel) NotData(source string) string { return c.notData[source] }

// execute runs code in the check kernel and returns its response. When ctx ends the kernel is killed.
func (c *checkKernel) execute(ctx context.Context, code string, isPristine bool) (response protocol.ExecuteCodeResponse, err error) {
	defer context.AfterFunc(ctx, c.kernel.Kill)()
	request := protocol.KernelRequest{Type: protocol.TypeExecuteCode, AgentTxID: protocol.NewServerTxID(), Code: &code, Pristine: isPristine}
	if err := c.write(request); err != nil {
		return response, err
	}
	for {
		body, err := c.kernel.Read()
		if err != nil {
			return response, cmp.Or(context.Cause(ctx), err)
		}
		if envelope, err := c.decoder.Decode(body); err == nil && envelope.Type == protocol.TypeExecuteCodeResponse {
			return response, json.Unmarshal(body, &response)
		}
	}
}

func (c *checkKernel) write(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return c.kernel.Write(body)
}
