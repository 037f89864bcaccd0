package attempt

import (
	"encoding/json"
	"strings"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/testcases"
)

// taskInstructions is appended to the task of every case. It says how to submit.
const taskInstructions = `

Work in the live notebook that your tools give you. Start from an empty notebook: delete cells that are there already. Your working folder holds the files listed below, if there are any.

When you have finished, call submit_response with next_status "done". Its summary must contain your answer as one JSON object between <EVAL_ANSWER> and </EVAL_ANSWER>, raw, without a code fence, and must end with ` + CompletionMarker + `. Write that marker nowhere else, and do not submit while a cell is still running.`

// replyToQuestion is the reply to the agent's first question.
const replyToQuestion = `There is nobody to answer questions during this evaluation. Continue by your own best judgement, finish the task, and submit your answer as the task says. A second question ends the evaluation.`

// taskQuery returns the query with the task for the agent. The error is that of encoding the list
// of files.
func (a *attempt) taskQuery() (protocol.AgentQuery, error) {
	files, err := contextualNodes(a.job.Case, a.session)
	return protocol.AgentQuery{
		Query:              a.job.Case.Task + taskInstructions,
		RequestID:          "eval-init-" + a.journal.SessionID,
		ContextualNodeData: files,
	}, err
}

// contextualNode describes a file in the query with the task.
type contextualNode struct {
	Type      string `json:"type"` // "File"
	Path      string `json:"path"` // name in the case
	ID        string `json:"id"`   // see nodeID
	LocalPath string `json:"local_path"`
}

// contextualNodes returns the files of the case in the session's working folder, as a JSON array;
// nil if there are none. The error is that of encoding them.
func contextualNodes(c testcases.Case, s *session.Session) (json.RawMessage, error) {
	var nodes []contextualNode
	for _, data := range c.Data {
		nodes = append(nodes, contextualNode{Type: "File", Path: data.Name, ID: nodeID(data.Name), LocalPath: dataFilePath(s.Workdir(), data)})
	}
	for _, file := range c.Files {
		nodes = append(nodes, contextualNode{Type: "File", Path: file.Name, ID: nodeID(file.Name), LocalPath: s.Workdir() + "/" + file.Name})
	}
	if nodes == nil {
		return nil, nil
	}
	return json.Marshal(nodes)
}

// nodeID returns the id of a file: its name without the scheme latch:/// and the endings .csv and
// .h5ad. Agents written for the first harness of this case format expect such ids.
func nodeID(name string) string {
	return strings.NewReplacer("latch:///", "", ".csv", "", ".h5ad", "").Replace(name)
}
