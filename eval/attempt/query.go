package attempt

import (
	"encoding/json"
	"strings"

	"assay/eval/session"
	"assay/internal/protocol"
	"assay/testcases"
)

// taskInstructions is the text that is appended to the task of every case. It tells the agent
// how to work and how to submit.
const taskInstructions = `

Work in the live notebook that your tools give you. Start from an empty notebook: delete cells that are there already. Your working folder holds the files listed below, if there are any.

When you have finished, call submit_response with next_status "done". Its summary must contain your answer as one JSON object between <EVAL_ANSWER> and </EVAL_ANSWER>, raw, without a code fence, and must end with ` + CompletionMarker + `. Write that marker nowhere else, and do not submit while a cell is still running.`

// replyToQuestion is the text with which the harness answers the agent's first question.
const replyToQuestion = `There is nobody to answer questions during this evaluation. Continue by your own best judgement, finish the task, and submit your answer as the task says. A second question ends the evaluation.`

// taskQuery returns the query that gives the agent its task, with the list of the case's files.
// It fails if that list cannot be encoded.
func (a *attempt) taskQuery() (protocol.AgentQuery, error) {
	files, err := encodeTaskFiles(a.job.Case, a.session)
	return protocol.AgentQuery{
		Query:              a.job.Case.Task + taskInstructions,
		RequestID:          protocol.TaskRequestIDPrefix + a.journal.SessionID,
		ContextualNodeData: files,
	}, err
}

// taskFile is the JSON that describes one of the case's files in the query with the task.
type taskFile struct {
	Type      string `json:"type"` // "File"
	Path      string `json:"path"` // name in the case
	ID        string `json:"id"`   // see caseFileIDFromName
	LocalPath string `json:"local_path"`
}

// encodeTaskFiles returns the case's data files and other files, with their paths in the
// session's working folder, as a JSON array for the query with the task; nil if there are none.
// It fails if encoding fails.
func encodeTaskFiles(c testcases.Case, s *session.Session) (json.RawMessage, error) {
	var nodes []taskFile
	for _, data := range c.Data {
		nodes = append(nodes, taskFile{Type: "File", Path: data.Name, ID: caseFileIDFromName(data.Name), LocalPath: dataFilePath(s.Workdir(), data)})
	}
	for _, file := range c.Files {
		nodes = append(nodes, taskFile{Type: "File", Path: file.Name, ID: caseFileIDFromName(file.Name), LocalPath: s.Workdir() + "/" + file.Name})
	}
	if nodes == nil {
		return nil, nil
	}
	return json.Marshal(nodes)
}

// FileNames returns the paths of a case's data files and other files, relative to the working folder.
func FileNames(c testcases.Case) (names []string) {
	for _, data := range c.Data {
		names = append(names, dataFolderName+"/"+data.Base)
	}
	for _, file := range c.Files {
		names = append(names, file.Name)
	}
	return names
}

// caseFileIDFromName returns the id of a case's file for the query: its name without the scheme
// latch:/// and the endings .csv and .h5ad. Agents written for the first harness of this case
// format expect such ids.
func caseFileIDFromName(name string) string {
	return strings.NewReplacer("latch:///", "", ".csv", "", ".h5ad", "").Replace(name)
}
