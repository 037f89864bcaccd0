package chaos_test

import (
	"encoding/json"
	"strings"
	"time"

	"assay/internal/protocol"
)

// faultyKernel is a kernel that runs no code: its rng decides what each run yields.
type faultyKernel struct {
	*faultyChild
	sequencer int // of the newest run
}

// kernelRequest has the fields that the kernel reads of a message.
type kernelRequest struct {
	Type      string `json:"type"`
	Action    string `json:"action"`
	TxID      string `json:"tx_id"`
	AgentTxID string `json:"agent_tx_id"`
	CellID    string `json:"cell_id"`
}

func (k *faultyKernel) run() int {
	for {
		body, err := k.in.Read()
		if err != nil {
			return 0
		}
		if k.misbehave() {
			return 1 + k.IntN(3)
		}
		var request kernelRequest
		if json.Unmarshal(body, &request) == nil {
			k.handle(request)
		}
	}
}

func (k *faultyKernel) handle(request kernelRequest) {
	switch request.Type {
	case protocol.TypeInit, protocol.TypeDisposeCell:
	case protocol.TypeRunCell:
		k.runCell(request.CellID)
	case protocol.TypeStopCell:
		if request.CellID != "" && k.oneIn(2) {
			k.sendResult(request.CellID, protocol.StatusInterrupted)
		}
	case protocol.TypeAgentAction:
		k.send(params{"type": protocol.TypeActionResponse, "tx_id": request.TxID, "status": "success", "summary": params{"x": 1}})
	default:
		k.answerRequest(request)
	}
}

// answerRequest answers a request: sometimes not at all, late, or with another's id.
func (k *faultyKernel) answerRequest(request kernelRequest) {
	id := request.AgentTxID
	switch k.IntN(20) {
	case 0:
		return
	case 1:
		id = k.pickText("", "eval_000000000000", "tx_1")
	case 2:
		<-time.After(k.durationBelow(600 * time.Millisecond))
	}
	answer := params{"type": request.Type + "_response", "agent_tx_id": id, "status": k.pickText("ok", "ok", "error", "interrupted"), "stdout": ""}
	switch request.Type {
	case protocol.TypeGlobalsSummary:
		answer = params{"type": request.Type, "agent_tx_id": id, "summary": params{"x": k.IntN(9)}, "truncated": false}
	case protocol.TypeReactivitySummary:
		answer = params{"type": request.Type, "agent_tx_id": id, "summary": "", "cell_reactivity": params{}}
	case protocol.TypeDebugState:
		answer = params{"type": request.Type, "agent_tx_id": id, "data": params{}}
	}
	k.send(answer)
}

// runCell sends the frames of a cell's run. Optional frames are sometimes missing, and
// the result too: such a run goes on for ever.
func (k *faultyKernel) runCell(cell string) {
	if k.oneIn(3) {
		k.send(protocol.RunQueue{Type: protocol.TypeRunQueue, Queue: []string{cell, k.pickText("a", "b", cell)}})
	}
	k.sequencer++
	k.send(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &cell, RunSequencer: k.sequencer})
	for range k.IntN(4) {
		k.sendOutput(cell)
	}
	if k.oneIn(4) {
		<-time.After(k.durationBelow(100 * time.Millisecond))
	}
	if k.oneIn(30) {
		return
	}
	k.sendResult(cell, k.pickText(protocol.StatusOK, protocol.StatusOK, protocol.StatusError))
	if k.oneIn(3) {
		k.send(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: k.sequencer})
	}
}

func (k *faultyKernel) sendResult(cell, status string) {
	k.send(protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: cell, RunSequencer: k.sequencer, Status: status,
		HasException: status == protocol.StatusError, Exception: "ChaosError: as thrown", Outputs: []string{},
	})
}

// sendOutput sends one frame of output, or a large one of 300 kB.
func (k *faultyKernel) sendOutput(cell string) {
	switch k.IntN(8) {
	case 0, 1:
		k.writeFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: k.pickText("stdout", "stderr"), CellID: cell, Text: []byte(strings.Repeat("spam\n", k.IntN(200)))}))
	case 2:
		if k.oneIn(10) {
			k.writeFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: "stdout", CellID: cell, Text: []byte(strings.Repeat("flood ", 50_000))}))
		}
	case 3:
		k.send(params{"type": "cell_widgets", "cell_id": cell, "updated_widgets": []string{}, "widget_state": params{cell + "/w": params{"type": "slider", "value": k.IntN(9)}}})
	case 4:
		k.send(params{"type": "cell_output", "cell_id": cell, "output": params{"output_type": "clear_output", "wait": k.oneIn(2)}})
	case 5:
		k.send(params{"type": "kernel_stdio", "active_cell": nil, "stream": "stdout", "data": "of no run [EVAL_COMPLETE]"})
	default:
		k.send(params{"type": "cell_output", "cell_id": cell, "run_sequencer": k.sequencer, "output": params{
			"output_type": "display_data", "data": params{"text/plain": k.pickText("x", "[EVAL_COMPLETE]", strings.Repeat("wide ", 2000))}, "metadata": params{},
		}})
	}
}
