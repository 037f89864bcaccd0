package grading

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

// kernelCheckTimeout is the time that all probes of a kernel_check, or its code, have
// together.
const kernelCheckTimeout = time.Minute

// gradeKernelCheck checks the state of the kernel, with or without an answer: by
// probes, which are expressions with demands on their values, or by code that must
// neither raise nor end in a false value.
func gradeKernelCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	code, probes, err := readKernelCheckConfig(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Kernel == nil:
		return Result{}, &pyvalue.Error{Kind: "kernel", Text: "there is no kernel any more to look at"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, kernelCheckTimeout, fmt.Errorf("the check had %v", kernelCheckTimeout))
	defer cancel()
	if probes != nil {
		return gradeByProbes(ctx, probes, in.Kernel)
	}
	return gradeByCheckCode(ctx, code, in.Kernel)
}

// checkKernelCheckConfig returns an error if the config of a kernel_check is malformed.
func checkKernelCheckConfig(config *pyvalue.Object) error {
	_, _, err := readKernelCheckConfig(config)
	return err
}

// readKernelCheckConfig returns the code or the probes of a kernel_check; the probes
// are nil if it has code. It is an error if the config has both or neither, or if they
// are malformed.
func readKernelCheckConfig(config *pyvalue.Object) (code string, probes []probe, err error) {
	text := config.Get("code")
	switch {
	case config.Has("probes") == (text != nil):
		return "", nil, errors.New("want either code or probes")
	case text == nil:
		probes, err = parseProbes(config)
		return "", probes, err
	case pyvalue.KindOf(text) != "string":
		return "", nil, fmt.Errorf("code: want a string, found %s", pyvalue.KindOf(text))
	}
	return pyvalue.Str(text), nil, nil
}

// gradeByCheckCode runs the code of a kernel_check in the kernel and returns the
// result. What the code prints becomes the reasoning.
func gradeByCheckCode(ctx context.Context, code string, kernel Kernel) (Result, error) {
	done, err := executeInKernel(ctx, kernel, code)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Kernel check")
	switch {
	case done.Status != "ok":
		r.addFailure("the check raised\n" + strings.TrimRight(done.Exception, "\n"))
	case isFalseRepr(done.Result):
		r.addFailure("the last value of the check is " + done.Result)
	}
	result := r.binaryResult()
	if printed := strings.TrimSpace(done.Stdout); printed != "" {
		result.Reasoning = strings.Join(append([]string{printed}, r.failures...), "\n\n")
	}
	return result, nil
}

// isFalseRepr reports whether a repr is that of false in Python, in old and new numpy,
// or nil in Lisp.
func isFalseRepr(repr string) bool {
	return repr == "False" || repr == "np.False_" || repr == "nil"
}

// executeInKernel runs code in the attempt's kernel. If the kernel cannot run it, the
// error has kind kernel.
func executeInKernel(ctx context.Context, kernel Kernel, code string) (Execution, error) {
	done, err := kernel.Execute(ctx, code)
	if err != nil {
		return Execution{}, &pyvalue.Error{Kind: "kernel", Text: err.Error()}
	}
	return done, nil
}
