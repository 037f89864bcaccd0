package jupyter

import (
	_ "embed" // for the code below
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// helper is run in kernels of Python, as a module.
//
//go:embed helper.py
var helper string

// summaryR is what kernels of R are asked.
//
//go:embed summary.R
var summaryR string

// language is what can be asked of a kernel of one language beside running code.
// Its zero value is one of which nothing is known.
type language struct {
	name, version string // as the kernel says

	// prepare is run when the kernel has started; its answer, in the expression
	// "assay", is {"echoes"}.
	prepare *executeRequest

	// about makes the request for what is told of a global, of all with "". Its
	// answer is a JSON object, in the expression "assay" or in a display_data:
	// {"info"} or {"summary", "truncated"}. Nil: such things cannot be asked.
	about func(key string) executeRequest

	// assigned is the expression for the names that a cell has assigned, with the
	// fields of a cell_result; empty: there is none.
	assigned string

	// echoes says that what is written to the kernel's descriptors comes as a
	// message too.
	echoes bool

	// dozes says that a signal alone does not wake the kernel's event loop, so that
	// a cell that awaits would not notice it.
	dozes bool

	// displays says that the value of an expression comes as display_data.
	displays bool
}

// languageOf finds out what can be asked of a kernel.
func languageOf(info kernelInfo) language {
	known := language{}
	switch {
	case strings.EqualFold(info.Implementation, "ipython"):
		known = python()
	case strings.EqualFold(info.Implementation, "irkernel"):
		known = language{about: aboutR, displays: true}
	}
	known.name, known.version = strings.ToLower(info.Language.Name), info.Language.Version
	return known
}

// lacks lists what the kernel cannot do, for its ready.
func (l language) lacks() []string {
	if l.about == nil {
		return []string{"globals_summary", "reactivity", "widgets"}
	}
	return []string{"reactivity", "widgets"}
}

// The module of the helper, and how to come to it whatever the user's names are.
const (
	module   = "_assay_jupyter"
	modules  = "__import__('sys').modules"
	inModule = modules + "['" + module + "']"
)

// answerName is the name of the one expression of a request.
const answerName = "assay"

func python() language {
	fresh := fmt.Sprintf("type(__import__('sys'))('%s')", module)
	return language{
		prepare: &executeRequest{
			Code:        fmt.Sprintf("exec(%s, vars(%s.setdefault('%s', %s)))", quoted(helper), modules, module, fresh),
			Silent:      true,
			Expressions: map[string]string{answerName: inModule + ".start()"},
		},
		about:    aboutPython,
		assigned: inModule + ".assigned()",
		dozes:    true,
	}
}

func aboutPython(key string) executeRequest {
	expression := inModule + ".summary()"
	if key != "" {
		expression = fmt.Sprintf("%s.info(%s)", inModule, quoted(key))
	}
	return executeRequest{Silent: true, Expressions: map[string]string{answerName: expression}}
}

func aboutR(key string) executeRequest {
	return executeRequest{Silent: true, Code: strings.Replace(summaryR, "KEY\n", quoted(key)+"\n", 1)}
}

// quoted writes text as a string of JSON, which is one of Python and of R too.
func quoted(text string) string {
	body, _ := protocol.Marshal(text) // a string can always be written
	return string(body)
}
