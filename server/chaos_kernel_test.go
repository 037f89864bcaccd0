package server_test

import (
	"encoding/json"
	"strings"
	"time"

	"assay/internal/protocol"
)

// chaosKernel runs no code: the dice say what comes of it.
type chaosKernel struct {
	*troubled
	sequencer int
}

// request is what a kernel reads of a message.
type request struct {
	Type      string `json:"type"`
	Action    string `json:"action"`
	TxID      string `json:"tx_id"`
	AgentTxID string `json:"agent_tx_id"`
	CellID    string `json:"cell_id"`
}

func (k *chaosKernel) run() int {
	for {
		body, err := k.in.Read()
		if err != nil {
			return 0
		}
		if k.falters() {
			return 1 + k.IntN(3)
		}
		var q request
		if json.Unmarshal(body, &q) == nil {
			k.serve(q)
		}
	}
}

func (k *chaosKernel) serve(q request) {
	switch q.Type {
	case protocol.TypeInit, protocol.TypeDisposeCell:
	case protocol.TypeRunCell:
		k.runCell(q.CellID)
	case protocol.TypeStopCell:
		if q.CellID != "" && k.chance(2) {
			k.result(q.CellID, protocol.StatusInterrupted)
		}
	case protocol.TypeAgentAction:
		k.say(params{"type": protocol.TypeActionResponse, "tx_id": q.TxID, "status": "success", "summary": params{"x": 1}})
	default:
		k.answer(q)
	}
}

// answer answers a request, mostly.
func (k *chaosKernel) answer(q request) {
	id := q.AgentTxID
	switch k.IntN(20) {
	case 0:
		return
	case 1:
		id = k.pick("", "eval_000000000000", "tx_1")
	case 2:
		<-time.After(k.upTo(600 * time.Millisecond))
	}
	answer := params{"type": q.Type + "_response", "agent_tx_id": id, "status": k.pick("ok", "ok", "error", "interrupted"), "stdout": ""}
	switch q.Type {
	case protocol.TypeGlobalsSummary:
		answer = params{"type": q.Type, "agent_tx_id": id, "summary": params{"x": k.IntN(9)}, "truncated": false}
	case protocol.TypeReactivitySummary:
		answer = params{"type": q.Type, "agent_tx_id": id, "summary": "", "cell_reactivity": params{}}
	case protocol.TypeDebugState:
		answer = params{"type": q.Type, "agent_tx_id": id, "data": params{}}
	}
	k.say(answer)
}

// runCell runs a cell: in order most of the time, and with all that can be left
// out or come twice.
func (k *chaosKernel) runCell(cell string) {
	if k.chance(3) {
		k.say(protocol.RunQueue{Type: protocol.TypeRunQueue, Queue: []string{cell, k.pick("a", "b", cell)}})
	}
	k.sequencer++
	k.say(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &cell, RunSequencer: k.sequencer})
	for range k.IntN(4) {
		k.output(cell)
	}
	if k.chance(4) {
		<-time.After(k.upTo(100 * time.Millisecond))
	}
	if k.chance(30) {
		return // and runs on
	}
	k.result(cell, k.pick(protocol.StatusOK, protocol.StatusOK, protocol.StatusError))
	if k.chance(3) {
		k.say(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: k.sequencer})
	}
}

func (k *chaosKernel) result(cell, status string) {
	k.say(protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: cell, RunSequencer: k.sequencer, Status: status,
		HasException: status == protocol.StatusError, Exception: "ChaosError: as thrown", Outputs: []string{},
	})
}

func (k *chaosKernel) output(cell string) {
	switch k.IntN(8) {
	case 0, 1:
		k.frame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: k.pick("stdout", "stderr"), CellID: cell, Text: []byte(strings.Repeat("spam\n", k.IntN(200)))}))
	case 2:
		if k.chance(10) {
			k.frame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: "stdout", CellID: cell, Text: []byte(strings.Repeat("flood ", 50_000))}))
		}
	case 3:
		k.say(params{"type": "cell_widgets", "cell_id": cell, "updated_widgets": []string{}, "widget_state": params{cell + "/w": params{"type": "slider", "value": k.IntN(9)}}})
	case 4:
		k.say(params{"type": "cell_output", "cell_id": cell, "output": params{"output_type": "clear_output", "wait": k.chance(2)}})
	case 5:
		k.say(params{"type": "kernel_stdio", "active_cell": nil, "stream": "stdout", "data": "of no run [EVAL_COMPLETE]"})
	default:
		k.say(params{"type": "cell_output", "cell_id": cell, "run_sequencer": k.sequencer, "output": params{
			"output_type": "display_data", "data": params{"text/plain": k.pick("x", "[EVAL_COMPLETE]", strings.Repeat("wide ", 2000))}, "metadata": params{},
		}})
	}
}
