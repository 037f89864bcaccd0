package grading

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

// kernelCheckTime is what the probes of a check have together, or its code.
const kernelCheckTime = time.Minute

// kernelCheck looks at what is in the kernel, whether or not there is an answer:
// by probes, which are expressions and what must be true of their values, or by
// code that must neither raise nor end in a false value.
func kernelCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	code, probes, err := readKernelCheck(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Kernel == nil:
		return Result{}, &pyvalue.Error{Kind: "kernel", Text: "there is no kernel any more to look at"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, kernelCheckTime, fmt.Errorf("the check had %v", kernelCheckTime))
	defer cancel()
	if probes != nil {
		return checkByProbes(ctx, probes, in.Kernel)
	}
	return checkByCode(ctx, code, in.Kernel)
}

func checkKernelCheck(config *pyvalue.Object) error {
	_, _, err := readKernelCheck(config)
	return err
}

// readKernelCheck returns either code or probes; probes are nil if it is code.
func readKernelCheck(config *pyvalue.Object) (code string, probes []probe, err error) {
	text := config.Get("code")
	switch {
	case config.Has("probes") == (text != nil):
		return "", nil, errors.New("want either code or probes")
	case text == nil:
		probes, err = probesOf(config)
		return "", probes, err
	case pyvalue.KindOf(text) != "string":
		return "", nil, fmt.Errorf("code: want a string, found %s", pyvalue.KindOf(text))
	}
	return pyvalue.Text(text), nil, nil
}

func checkByCode(ctx context.Context, code string, kernel Kernel) (Result, error) {
	done, err := execute(ctx, kernel, code)
	if err != nil {
		return Result{}, err
	}
	r := newReport("Kernel check")
	switch {
	case done.Status != "ok":
		r.fail("the check raised\n" + strings.TrimRight(done.Exception, "\n"))
	case isFalse(done.Result):
		r.fail("the last value of the check is " + done.Result)
	}
	result := r.verdict()
	if printed := strings.TrimSpace(done.Stdout); printed != "" {
		result.Reasoning = strings.Join(append([]string{printed}, r.failures...), "\n\n")
	}
	return result, nil
}

// isFalse says whether a repr is that of false: Python's, numpy's (older and
// newer) or Lisp's.
func isFalse(repr string) bool {
	return repr == "False" || repr == "np.False_" || repr == "nil"
}

func execute(ctx context.Context, kernel Kernel, code string) (Execution, error) {
	done, err := kernel.Execute(ctx, code)
	if err != nil {
		return Execution{}, &pyvalue.Error{Kind: "kernel", Text: err.Error()}
	}
	return done, nil
}
