package attempt

import (
	"cmp"
	"encoding/json"
	"strings"

	"assay/internal/model/calllog"
	"assay/internal/trace"
)

// modelProblems is what the detail of an outcome says about calls of models.
type modelProblems struct {
	lastFailure string // why the last call has failed; empty: it has not
	unpriced    string // the first model whose price is not known; empty: there is none
}

// addReply notes how a call has ended. That the agent went away during a call, or had reached a limit, is no failure
// of the call.
func (p *modelProblems) addReply(reply calllog.Reply) {
	switch {
	case reply.IsComplete:
		p.lastFailure = ""
	case reply.Limit == "" && (reply.Status >= 400 || reply.IsRefusedByVendor):
		p.lastFailure = reply.Error
	}
	if reply.Response != nil && reply.CostUSD == nil && p.unpriced == "" {
		p.unpriced = cmp.Or(reply.Model, "the model of --model")
	}
}

// addRejection notes that a request was no call of a model. It counts until a call has succeeded: SDKs also ask for
// what is not served, and go on without it.
func (p *modelProblems) addRejection(e *trace.Entry, haveSucceeded bool) {
	var rejected calllog.Rejected
	if json.Unmarshal(e.Body, &rejected) == nil && !haveSucceeded {
		p.lastFailure = rejected.Error
	}
}

// describeFailure returns what to append to the detail of an outcome that is an error of the agent: why its last call of
// a model has failed, unless detail has that, perhaps as JSON.
func (p *modelProblems) describeFailure(detail string) string {
	if p.lastFailure == "" || strings.Contains(withoutEscapes(detail), withoutEscapes(withoutVendorPrefix(p.lastFailure))) {
		return ""
	}
	return "; its last call of a model failed: " + p.lastFailure
}

// withoutEscapes removes the backslashes of JSON strings from a text.
func withoutEscapes(text string) string { return strings.ReplaceAll(text, `\`, "") }

// describeUnenforcedCost returns why the limit on cost was not enforced; empty: it was, or there is none.
func (w *completionWatcher) describeUnenforcedCost() string {
	const text = "the limit on cost was not enforced: "
	switch used := w.usage(); {
	case w.limits.MaxCostUSD <= 0 || used.CostUSD != nil || used.InputTokens+used.OutputTokens == 0:
		return ""
	case w.modelCalls.problems.unpriced != "":
		return text + "the price of " + w.modelCalls.problems.unpriced + " is not known"
	default:
		return text + "the agent has reported tokens and no cost"
	}
}
