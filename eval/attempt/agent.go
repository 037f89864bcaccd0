package attempt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// CompletionMarker ends the summary of a submission that is meant. Anywhere else it
// completes nothing and is counted as a tamper signal.
const CompletionMarker = "[EVAL_COMPLETE]"

// action is an action of the agent's in flight.
type action struct {
	name    string
	runs    bool // its success runs a cell
	refused int  // others with its id, whose refusals are still to come
}

// fromAgent takes in a frame of the agent, behind what the frame shows to have
// been said before it.
func (w *watch) fromAgent(e *trace.Entry) *verdict {
	w.listen(e)
	w.fromReply(e)
	said := w.fromStream(e)
	if beginsTurn(e) {
		w.lastWord = time.Time{}
	}
	v := w.fromAgentFrame(e)
	switch {
	case said == nil, said.outcome == "" && v != nil: // an end goes before a question
		return v
	case said.outcome == runs.OutcomeCompleted:
		return cmp.Or(w.settle(), v) // the frame may be an action, which is waited for
	default:
		return said
	}
}

func (w *watch) fromAgentFrame(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeAgentAction:
		return w.fromAgentAction(e)
	case protocol.TypeAgentHistoryUpdated:
		return w.fromHistory(e)
	case protocol.TypeAgentResult:
		return w.fromResult(e)
	case protocol.TypeAgentStatus:
		return w.fromStatus(e)
	case protocol.TypeAgentUsageUpdate:
		return w.fromUsage(e)
	case protocol.TypeAgentEvent:
		w.fromEvent(e)
	case protocol.TypeAgentError:
		return w.fromError(e)
	}
	return nil
}

// beginsTurn tells whether a frame shows that the agent goes on: then what it
// said last was not its last word. Of an update its entry tells.
func beginsTurn(e *trace.Entry) bool {
	switch e.Type {
	case protocol.TypeAgentAction, protocol.TypeAgentStreamStart:
		return true
	case protocol.TypeAgentStatus:
		return e.Status == protocol.AgentThinking || e.Status == protocol.AgentExecuting
	default:
		return false
	}
}

// suspect counts a frame that has the marker where it completes nothing.
func (w *watch) suspect(e *trace.Entry) {
	if bytes.Contains(e.Body, []byte(CompletionMarker)) {
		w.tamper++
	}
}

func (w *watch) fromAgentAction(e *trace.Entry) *verdict {
	w.suspect(e)
	w.counts.Actions++
	if runsCell(e) {
		w.ran = e.Action
	}
	switch asked, inFlight := w.actions[e.TxID]; {
	case e.TxID == "" && runsCell(e):
		w.promise(e.CellID, e.WallTime) // no answer will say so
	case e.TxID == "":
	case inFlight:
		asked.refused++ // it will be answered at once, and the first one still
		w.actions[e.TxID] = asked
	default:
		w.actions[e.TxID] = action{name: e.Action, runs: runsCell(e)}
	}
	if most := w.limits.Actions; most > 0 && w.counts.Actions > most {
		return limitReached("actions", most, w.counts.Actions)
	}
	return nil
}

// runsCell tells whether the action, when it succeeds, runs a cell.
func runsCell(e *trace.Entry) bool {
	switch e.Action {
	case "run_cell":
		return true
	case "create_cell", "edit_cell":
		var message struct {
			Params struct {
				AutoRun bool `json:"auto_run"`
			} `json:"params"`
		}
		// What does not fit will be answered with an error.
		return json.Unmarshal(e.Body, &message) == nil && message.Params.AutoRun
	default:
		return false
	}
}

// toAgent follows the answers to the agent's actions.
func (w *watch) toAgent(e *trace.Entry) *verdict {
	asked, ok := w.actions[e.TxID]
	if e.Type != protocol.TypeActionResponse || !ok || e.Note == trace.NoteDropped {
		return nil
	}
	if asked.refused > 0 && e.Status == protocol.StatusError {
		asked.refused--
		w.actions[e.TxID] = asked
		return nil
	}
	delete(w.actions, e.TxID)
	if asked.runs && e.Status == protocol.StatusSuccess {
		w.promise(e.CellID, e.WallTime)
	}
	return w.settle()
}

// promise opens a run of a cell that is still to be told to run.
func (w *watch) promise(id string, at time.Time) {
	if id != "" {
		w.change(id, func(c *cell) { c.promised = at })
	}
}

func (w *watch) fromStatus(e *trace.Entry) *verdict {
	w.saying = e.Status
	if e.Status == protocol.AgentDone {
		return w.over("the agent said that it is done and has not submitted an answer with " + CompletionMarker)
	}
	return nil
}

func (w *watch) fromUsage(e *trace.Entry) *verdict {
	var usage protocol.UsageUpdate
	if err := json.Unmarshal(e.Body, &usage); err != nil {
		return nil // what an agent says of its cost is no reason to end it
	}
	w.counts.InputTokens = usage.InputTokens + usage.CacheReadInputTokens + usage.CacheCreationInputTokens
	w.counts.CacheReadInputTokens, w.counts.CacheCreationInputTokens = usage.CacheReadInputTokens, usage.CacheCreationInputTokens
	w.counts.OutputTokens = usage.OutputTokens
	w.counts.CostUSD = usage.CostUSD
	if most, spent := w.limits.Tokens, w.counts.InputTokens+w.counts.OutputTokens; most > 0 && spent > most {
		return limitReached("tokens", most, spent)
	}
	if most := w.limits.CostUSD; most > 0 && usage.CostUSD != nil && *usage.CostUSD > most {
		return limitReached("cost_usd", most, *usage.CostUSD)
	}
	return nil
}

func (w *watch) fromError(e *trace.Entry) *verdict {
	var failure protocol.AgentError
	if err := json.Unmarshal(e.Body, &failure); err != nil {
		failure = protocol.AgentError{Error: fmt.Sprintf("an agent_error that cannot be read: %v", err), Fatal: true}
	}
	if !failure.Fatal || w.marked {
		w.complaint = failure.Error
		return nil
	}
	return &verdict{outcome: runs.OutcomeAgentError, detail: failure.Error}
}

func queueOf(body []byte) []string {
	var queue protocol.RunQueue
	if json.Unmarshal(body, &queue) != nil {
		return nil
	}
	return queue.Queue
}
