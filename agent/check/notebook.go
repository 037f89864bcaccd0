package check

import (
	"encoding/json"
	"fmt"
	"sync"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// printedText is what every run of a cell prints.
const printedText = "42\n"

// notebookPeer carries out the agent's actions: those on cells in a document of the server, those for the kernel with
// fixed answers. A run of a cell prints printedText and ends.
type notebookPeer struct {
	server     *server
	document   *notebook.Document
	executions *notebook.Executions
	ours       protocol.Conn // to the document
	theirs     protocol.Conn // the document's end

	// What a situation changes, before the agent is started.
	isKernelDead bool // runs and requests to the kernel fail
	othersRunToo bool // before each run of a cell there is one of a cell that is not the agent's

	mu          sync.Mutex // held while a run is played, so that runs do not overlap
	runs        int        // that have started
	seq         int64      // of the kernel's last frame
	kernelCalls int        // runs of the agent's cells, and its requests to the kernel
}

// newNotebookPeer returns an empty notebook whose answers and messages go to the agent of p.
func newNotebookPeer(p *server) *notebookPeer {
	n := &notebookPeer{server: p}
	n.executions = notebook.NewExecutions(notebook.ExecutionsConfig{CellTitle: func(id string) string { return n.document.CellTitle(id) }})
	n.document = notebook.NewDocument(notebook.DocumentConfig{Executions: n.executions})
	n.ours, n.theirs = protocol.Pipe()
	return n
}

// start starts to serve the document. The goroutines end with close.
func (n *notebookPeer) start(goroutines *sync.WaitGroup) {
	goroutines.Go(func() { _ = n.document.Serve(n.theirs) }) // ends with the pipe
	goroutines.Go(n.passOnAnswers)
}

// close ends the goroutines of start.
func (n *notebookPeer) close() { _ = n.ours.Close(protocol.CloseNormal, "") }

// carryOut carries out an action of the agent, and answers it unless id, our id for it, is empty.
func (n *notebookPeer) carryOut(f frame, id string) {
	if fields := n.answerOfKernel(f.Action); fields != nil {
		n.server.answerWith(id, fields)
		return
	}
	var field any // nil removes the tx_id, which may be a number
	if id != "" {
		field = id
	}
	if body, err := protocol.ReplaceFields(f.body, protocol.Field{Name: "tx_id", Value: field}); err == nil {
		_ = n.ours.Write(body) // fails only once it is closed
	}
}

// answerOfKernel returns the fields of the answer to an action that the document does not answer; nil for others.
func (n *notebookPeer) answerOfKernel(action string) map[string]any {
	success := func(name string, value any) map[string]any {
		return map[string]any{"status": protocol.StatusSuccess, name: value}
	}
	if action == submitTool {
		return map[string]any{"status": protocol.StatusSuccess}
	}
	answers := map[string]map[string]any{
		"execute_code":               {"status": protocol.StatusSuccess, "result": nil, "stdout": printedText, "stderr": "", "forms": 1},
		"request_globals_summary":    {"status": protocol.StatusSuccess, "summary": map[string]any{}, "truncated": false},
		"request_reactivity_summary": {"status": protocol.StatusSuccess, "summary": "", "cell_reactivity": map[string]any{}},
		"get_global_info":            success("info", map[string]any{"type": "int", "repr": "42"}),
		"reset_kernel_globals":       success("threads", []string{}),
	}
	if answers[action] == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kernelCalls++
	if n.isKernelDead {
		return map[string]any{"status": protocol.StatusError, "error": kernelDeathText}
	}
	return answers[action]
}

// passOnAnswers sends the agent the document's answers, and plays the runs that they cause, until the pipe is closed.
func (n *notebookPeer) passOnAnswers() {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := n.ours.Read()
		if err != nil {
			return
		}
		switch env, err := decoder.Decode(body); {
		case err != nil:
		case env.Type == protocol.TypeActionResponse:
			n.server.answer(env.TxID, body)
		case env.Type == protocol.TypeRunCell:
			n.runCell(env.CellID)
		}
	}
}

// runCell plays a run of one of the agent's cells: it prints printedText, or fails if the kernel is dead. The
// first run that fails has started before.
func (n *notebookPeer) runCell(cellID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kernelCalls++
	switch {
	case n.isKernelDead && n.runs == 0:
		n.runs++
		n.applyLocked(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &cellID, RunSequencer: n.runs})
		n.failRunLocked(cellID)
	case n.isKernelDead:
		n.failRunLocked(cellID)
	default:
		if n.othersRunToo {
			n.playRunLocked(otherCell, otherText)
		}
		n.playRunLocked(cellID, printedText)
	}
}

// A cell that is not the agent's, and what its runs print.
const (
	otherCell = "cell-of-a-person"
	otherText = "printed-by-the-cell-of-a-person\n"
)

// runOtherCell plays a run of a cell that is not the agent's.
func (n *notebookPeer) runOtherCell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.playRunLocked(otherCell, otherText)
}

// kernelCallCount returns how often the agent has used the kernel.
func (n *notebookPeer) kernelCallCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kernelCalls
}

// playRunLocked sends the messages of a run of a cell that prints text. The caller holds mu.
func (n *notebookPeer) playRunLocked(cellID, text string) {
	n.runs++
	n.executions.MarkRunSent(cellID)
	n.applyLocked(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &cellID, RunSequencer: n.runs})
	n.applyLocked(protocol.KernelStdio{Type: protocol.TypeKernelStdio, ActiveCell: &cellID, Stream: protocol.Stdout, Data: text})
	n.applyLocked(newCellResult(cellID, n.runs, protocol.StatusOK, ""))
	n.applyLocked(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: n.runs})
}

// kernelDeathText says how the kernel has ended.
const kernelDeathText = "the kernel has ended: kernel was killed by SIGKILL"

// failRunLocked sends the message that a run of a cell has failed because the kernel is dead. The caller holds mu.
func (n *notebookPeer) failRunLocked(cellID string) {
	result := protocol.KernelMessageResult{CellResult: newCellResult(cellID, 0, protocol.StatusError, kernelDeathText), CellOutputs: []json.RawMessage{}}
	if body, err := protocol.Marshal(result); err == nil {
		n.server.send(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: body})
	}
}

// newCellResult returns a cell_result. exception is empty if the run has not failed.
func newCellResult(cellID string, sequencer int, status, exception string) protocol.CellResult {
	none := []string{}
	return protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: cellID, RunSequencer: sequencer, Status: status, HasException: exception != "", Exception: exception,
		Outputs: none, DataframeOutputs: none, FigureOutputs: none, StaticFigureOutputs: none, DurationMS: 1,
	}
}

// applyLocked applies a frame of the kernel to the executions and sends the agent the kernel_message about it, if
// there is one. The caller holds mu.
func (n *notebookPeer) applyLocked(message any) {
	body, err := protocol.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("a frame of the kernel: %v", err)) // it has strings and numbers
	}
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err == nil {
		n.seq++
		err = n.executions.ApplyFrame(n.seq, env, body)
	}
	if content, ok := n.executions.KernelMessage(env, body); ok && err == nil {
		n.server.send(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: content})
	}
}
