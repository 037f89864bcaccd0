package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// summarise answers with what is told of the globals: when the kernel has time,
// which may be when the cell that runs has ended. Where nothing can be told the
// summary is empty, and a note says why.
func (a *adapter) summarise(ask asked, answer func(string, fields) fields) {
	reply := func(told facts, problem string) {
		with := fields{"summary": told.Summary, "truncated": told.Truncated}
		if problem != "" || len(told.Summary) == 0 {
			with = fields{"summary": json.RawMessage("{}"), "truncated": false, "note": problem}
		}
		a.out.send(answer(protocol.TypeGlobalsSummary, with))
	}
	if !a.tells {
		reply(facts{}, "the globals of this kernel's language cannot be told")
		return
	}
	a.add(&question{ask: ask, answer: reply, stderr: a.cfg.Stderr})
}

// globalInfo answers with what is told of one global.
func (a *adapter) globalInfo(ask asked) error {
	if ask.Key == "" {
		return errors.New("get_global_info: key is missing or empty")
	}
	reply := func(told facts, problem string) {
		with := fields{"status": protocol.StatusSuccess, "info": told.Info}
		if problem == "" && len(told.Info) == 0 {
			problem = fmt.Sprintf("there is no global %q", ask.Key)
		}
		if problem != "" {
			with = fields{"status": protocol.StatusError, "error": problem}
		}
		a.out.send(ask.answer("get_global_info_response", with))
	}
	if !a.tells {
		reply(facts{}, "the globals of this kernel's language cannot be told")
		return nil
	}
	a.add(&question{ask: ask, key: ask.Key, answer: reply, stderr: a.cfg.Stderr})
	return nil
}

// action answers the older form of the two summary requests.
func (a *adapter) action(ask asked) error {
	answer := func(_ string, with fields) fields {
		answer := ask.answer(protocol.TypeActionResponse, with)
		answer["tx_id"], answer["status"] = ask.TxID, protocol.StatusSuccess
		return answer
	}
	switch ask.Action {
	case "request_globals_summary":
		a.summarise(ask, answer)
	case "request_reactivity_summary":
		a.out.send(answer("", reactivity()))
	default:
		return fmt.Errorf("agent_action: a kernel does not know the action %q", ask.Action)
	}
	return nil
}

// reactivity is the summary of a kernel in which no cell depends on another.
func reactivity() fields {
	return fields{
		"summary":         "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n",
		"cell_reactivity": map[string]any{},
	}
}
