package jupyter

import (
	_ "embed" // of helper.py and summary.R
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// pythonHelperSource is Python code that is run once in each Python kernel, as a module, to describe
// globals.
//
//go:embed helper.py
var pythonHelperSource string

// rSummarySource is R code that is run in an R kernel for each request about globals, with KEY
// replaced by the name of the global.
//
//go:embed summary.R
var rSummarySource string

// languageSupport says what the adapter can do in a kernel's programming language besides running
// code. In the zero value the language is unknown.
type languageSupport struct {
	name, version string // from the kernel_info_reply

	// setupRequest is run when the kernel has started. Its expression must have a value. nil:
	// nothing is run.
	setupRequest *executeRequest

	// globalsRequest returns the request to describe a global, or all globals if key is
	// empty. The answer is a JSON object, as the value of the expression or in a
	// display_data: {"info"} or {"summary", "truncated"}. nil: the language has none.
	globalsRequest func(key string) executeRequest

	// assignedExpression is the user_expression for the names that a cell has assigned,
	// an object with fields of a cell_result. Empty: the language has none.
	assignedExpression string

	// needsWakeUp says that SIGINT does not wake the kernel's event loop, so that a cell in an await
	// would not notice it without a message.
	needsWakeUp bool

	// valueIsDisplayData says that the value of code comes as display_data, not as
	// execute_result.
	valueIsDisplayData bool
}

// detectLanguageSupport returns the language of a kernel according to its kernel_info_reply. Only
// IPython and IRkernel can describe globals.
func detectLanguageSupport(info kernelInfo) languageSupport {
	known := languageSupport{}
	switch {
	case strings.EqualFold(info.Implementation, "ipython"):
		known = pythonLanguageSupport()
	case strings.EqualFold(info.Implementation, "irkernel"):
		known = languageSupport{globalsRequest: rGlobalsRequest, valueIsDisplayData: true}
	}
	known.name, known.version = strings.ToLower(info.Language.Name), info.Language.Version
	return known
}

// unsupportedFeatures returns the names of the features that the kernel lacks, for the ready
// message.
func (l languageSupport) unsupportedFeatures() []string {
	if l.globalsRequest == nil {
		return []string{"globals_summary", "reactivity", "widgets"}
	}
	return []string{"reactivity", "widgets"}
}

// The Python module of the helper, and expressions that reach it whatever names the user
// has assigned.
const (
	helperModule    = "_assay_jupyter"
	sysModules      = "__import__('sys').modules"
	helperReference = sysModules + "['" + helperModule + "']"
)

// answerExpressionKey is the key of the only user_expression in an execute_request; the reply has
// its value under the same key.
const answerExpressionKey = "assay"

// pythonLanguageSupport returns what the adapter can do in IPython kernels, by means of the helper
// module.
func pythonLanguageSupport() languageSupport {
	newModule := fmt.Sprintf("type(__import__('sys'))('%s')", helperModule)
	return languageSupport{
		setupRequest: &executeRequest{
			Code:        fmt.Sprintf("exec(%s, vars(%s.setdefault('%s', %s)))", jsonStringLiteral(pythonHelperSource), sysModules, helperModule, newModule),
			Silent:      true,
			Expressions: map[string]string{answerExpressionKey: helperReference + ".release_descriptors()"},
		},
		globalsRequest:     pythonGlobalsRequest,
		assignedExpression: helperReference + ".describe_assigned_names()",
		needsWakeUp:        true,
	}
}

// pythonGlobalsRequest returns the request that makes a Python kernel describe the global
// named key, or all globals if key is empty.
func pythonGlobalsRequest(key string) executeRequest {
	expression := helperReference + ".describe_globals()"
	if key != "" {
		expression = fmt.Sprintf("%s.describe_global(%s)", helperReference, jsonStringLiteral(key))
	}
	return executeRequest{Silent: true, Expressions: map[string]string{answerExpressionKey: expression}}
}

// rGlobalsRequest returns the request that makes an R kernel describe the global named key, or
// all globals if key is empty.
func rGlobalsRequest(key string) executeRequest {
	return executeRequest{Silent: true, Code: strings.Replace(rSummarySource, "KEY\n", jsonStringLiteral(key)+"\n", 1)}
}

// jsonStringLiteral returns text as a JSON string, which is also a string literal in Python
// and R.
func jsonStringLiteral(text string) string {
	body, _ := protocol.Marshal(text) // a string can always be marshalled
	return string(body)
}
