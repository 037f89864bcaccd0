package jupyter

import (
	_ "embed" // of helper.py and summary.R
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// helperSource is run in Python kernels as a module.
//
//go:embed helper.py
var helperSource string

// rSummarySource is run in R kernels for each request about globals, with KEY replaced.
//
//go:embed summary.R
var rSummarySource string

// language is what the adapter knows about a kernel's language besides running code.
// The zero value is an unknown language.
type language struct {
	name, version string // from the kernel_info_reply

	// setupRequest is run when the kernel has started. The value of its expression is
	// {"echoes": bool}; see echoesDescriptors. nil: nothing is run.
	setupRequest *executeRequest

	// globalsRequest returns the request to describe a global, or all globals if key is
	// empty. The answer is a JSON object, as the value of the expression or in a
	// display_data: {"info"} or {"summary", "truncated"}. nil: the language has none.
	globalsRequest func(key string) executeRequest

	// assignedExpression is the user_expression for the names that a cell has assigned,
	// an object with fields of a cell_result. Empty: the language has none.
	assignedExpression string

	// echoesDescriptors: what is written to the kernel's stdout and stderr comes as
	// messages too.
	echoesDescriptors bool

	// needsWakeUp: SIGINT does not wake the kernel's event loop, so that a cell in an await
	// would not notice it without a message.
	needsWakeUp bool

	// valueIsDisplayData: the value of code comes as display_data, not execute_result.
	valueIsDisplayData bool
}

// languageOf returns the language of a kernel by its kernel_info_reply.
func languageOf(info kernelInfo) language {
	known := language{}
	switch {
	case strings.EqualFold(info.Implementation, "ipython"):
		known = pythonLanguage()
	case strings.EqualFold(info.Implementation, "irkernel"):
		known = language{globalsRequest: rGlobalsRequest, valueIsDisplayData: true}
	}
	known.name, known.version = strings.ToLower(info.Language.Name), info.Language.Version
	return known
}

// unsupportedFeatures returns the features for the ready message that the kernel lacks.
func (l language) unsupportedFeatures() []string {
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

// answerExpression is the name of the one user_expression of a request.
const answerExpression = "assay"

func pythonLanguage() language {
	newModule := fmt.Sprintf("type(__import__('sys'))('%s')", helperModule)
	return language{
		setupRequest: &executeRequest{
			Code:        fmt.Sprintf("exec(%s, vars(%s.setdefault('%s', %s)))", jsonString(helperSource), sysModules, helperModule, newModule),
			Silent:      true,
			Expressions: map[string]string{answerExpression: helperReference + ".start()"},
		},
		globalsRequest:     pythonGlobalsRequest,
		assignedExpression: helperReference + ".assigned()",
		needsWakeUp:        true,
	}
}

func pythonGlobalsRequest(key string) executeRequest {
	expression := helperReference + ".summary()"
	if key != "" {
		expression = fmt.Sprintf("%s.info(%s)", helperReference, jsonString(key))
	}
	return executeRequest{Silent: true, Expressions: map[string]string{answerExpression: expression}}
}

func rGlobalsRequest(key string) executeRequest {
	return executeRequest{Silent: true, Code: strings.Replace(rSummarySource, "KEY\n", jsonString(key)+"\n", 1)}
}

// jsonString returns text as a JSON string, which is also a string literal in Python
// and R.
func jsonString(text string) string {
	body, _ := protocol.Marshal(text) // a string can always be marshalled
	return string(body)
}
