// Package oracle has two agents that call no model and check a case rather than solve it:
// one plays the case's solution, one does nothing. A good case is passed by the first and
// failed by the second.
package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"assay/agent/builtin"
	"assay/agent/builtin/render"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/model/script"
	"assay/internal/protocol"
)

// Solution is the reference solution of a case: sources of cells and an answer, or the turns
// of a scripted model.
type Solution struct {
	Cells  []string        // sources
	Answer json.RawMessage // nil: the last line that the last cell printed
	Turns  *script.Script  // instead of Cells and Answer
}

// ReadSolution reads the reference solution of a case from a file; see [ParseSolution]. It
// returns an error if the file cannot be read or parsed.
func ReadSolution(file string) (Solution, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Solution{}, fmt.Errorf("read the solution: %w", err)
	}
	s, err := ParseSolution(data)
	if err != nil {
		return Solution{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// ParseSolution parses a case's reference solution in JSON: {cells: [source], answer?} or
// {turns: [line of a script]}. A bare list of strings is taken as cells, a bare list of
// objects as turns. It returns an error if the JSON is invalid, has other fields, or has
// both turns and cells.
func ParseSolution(data []byte) (Solution, error) {
	var in struct {
		Cells  []string          `json:"cells"`
		Answer json.RawMessage   `json:"answer"`
		Turns  []json.RawMessage `json:"turns"`
	}
	isList := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	switch {
	case isList && json.Unmarshal(data, &in.Cells) == nil:
	case isList:
		in.Cells = nil
		if err := json.Unmarshal(data, &in.Turns); err != nil {
			return Solution{}, fmt.Errorf("read the solution: %w", err)
		}
	default:
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return Solution{}, fmt.Errorf("read the solution: %w", err)
		}
	}
	if in.Turns == nil {
		return Solution{Cells: in.Cells, Answer: in.Answer}, nil
	}
	if in.Cells != nil || in.Answer != nil {
		return Solution{}, errors.New("a solution has either turns, or cells and an answer")
	}
	parsed, err := parseTurns(in.Turns)
	return Solution{Turns: parsed}, err
}

// parseTurns parses a solution's turns as a model script, in which each line is one turn.
func parseTurns(turns []json.RawMessage) (*script.Script, error) {
	var lines bytes.Buffer
	for _, turn := range turns {
		if err := json.Compact(&lines, turn); err != nil {
			return nil, err
		}
		lines.WriteByte('\n')
	}
	return script.Parse("turns", lines.Bytes())
}

// Run runs an agent that plays a case's reference solution, until conn or ctx ends; see
// [builtin.Run]. For each query it creates the solution's cells at the end of the notebook,
// runs them in order, whether they fail or not, and submits the answer. If the solution has
// turns, Run instead runs an agent with tools whose model replies with these turns.
func Run(ctx context.Context, conn protocol.Conn, solution Solution, cfg builtin.Config) error {
	if solution.Turns != nil {
		cfg.Model, cfg.ModelName = solution.Turns.Client(), ""
		return tools.Run(ctx, conn, tools.Config{Agent: cfg})
	}
	return runSingleConversationAgent(ctx, conn, cfg, func(conversation *builtin.Conversation) answerFunc {
		return (&solutionPlayer{solution: solution, conversation: conversation}).answer
	})
}

// RunNoop runs an agent that does nothing, until conn or ctx ends; see [builtin.Run]. It
// answers every query with the sentence "I do nothing." and submits nothing.
func RunNoop(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
	return runSingleConversationAgent(ctx, conn, cfg, func(conversation *builtin.Conversation) answerFunc {
		return func(context.Context, protocol.AgentQuery) (string, error) {
			conversation.AddMessage(builtin.AssistantMessage(model.Text("I do nothing.")))
			return protocol.AgentDone, nil
		}
	})
}

// answerFunc is a function that works on a query and returns the agent's status after it;
// see [builtin.Task].
type answerFunc = func(context.Context, protocol.AgentQuery) (status string, err error)

// runSingleConversationAgent runs an agent that has one conversation and answers queries with the
// function that newAnswer returns. It accepts an init that asks for the strategy tools.
func runSingleConversationAgent(ctx context.Context, conn protocol.Conn, cfg builtin.Config, newAnswer func(*builtin.Conversation) answerFunc) error {
	a, err := builtin.NewAgent(conn, cfg, tools.StrategyName, func(core *builtin.AgentCore) (builtin.Strategy, error) {
		conversation := builtin.NewConversation(core)
		return builtin.NewSingleConversationStrategy(conversation, newAnswer(conversation)), nil
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// solutionPlayer answers queries by running the cells of a case's solution and submitting
// its answer.
type solutionPlayer struct {
	solution     Solution
	conversation *builtin.Conversation
}

// answer runs the cells of the solution and submits its answer, whatever the query says. It
// returns the status done, or an error if the notebook's cells cannot be listed or ctx ends.
func (p *solutionPlayer) answer(ctx context.Context, _ protocol.AgentQuery) (status string, err error) {
	p.conversation.SendStatus(protocol.AgentExecuting)
	printed, failure, err := p.runCells(ctx)
	if err != nil {
		return "", err
	}
	summary := "The cells of the solution were run; the last of them printed nothing, so there is no answer." + failure
	if answer := p.solution.answerJSON(printed); answer != "" {
		summary = "The cells of the solution were run.\n<EVAL_ANSWER>" + answer + "</EVAL_ANSWER>"
	}
	if err := p.conversation.Submit(summary+"\n"+builtin.CompleteMarker, nil); err != nil {
		return "", err
	}
	return protocol.AgentDone, nil
}

// runCells creates and runs the cells of the solution. It returns what the last cell
// printed, and a sentence about the first cell that raised an exception, "" if none did. A
// cell that cannot be created or does not end in time is reported to the server as an error,
// and the next one is tried.
func (p *solutionPlayer) runCells(ctx context.Context) (printed, failure string, err error) {
	existing, err := p.conversation.Notebook.CellIDs(ctx)
	if err != nil {
		return "", "", err
	}
	position := len(existing)
	for i, source := range p.solution.Cells {
		run, err := p.conversation.Notebook.CreateAndRunCell(ctx, map[string]any{"position": position, "cell_type": "code", "source": source, "auto_run": true})
		printed = ""
		switch {
		case ctx.Err() != nil:
			return "", "", context.Cause(ctx)
		case err != nil:
			p.conversation.SendError(fmt.Sprintf("cell %d of the solution: %v", i+1, err))
			continue
		case run.Result == nil:
			p.conversation.SendError(fmt.Sprintf("cell %d of the solution still runs after %s seconds", i+1, render.FormatSeconds(run.Waited)))
		default:
			printed = run.Result.Logs
			if exception := strings.TrimSpace(run.Result.Exception); failure == "" && exception != "" {
				failure = fmt.Sprintf(" Cell %d failed: %s", i+1, exception[strings.LastIndexByte(exception, '\n')+1:])
			}
		}
		position++
	}
	return printed, failure, nil
}

// answerJSON returns the answer to submit as JSON: the one of the solution, otherwise the
// last line of printed, as a JSON string unless the line is JSON itself. It returns "" if
// there is neither. < and > are escaped, so that the answer contains no tag.
func (s Solution) answerJSON(printed string) string {
	answer := []byte(s.Answer)
	if answer == nil {
		lines := strings.Split(strings.TrimSpace(printed), "\n")
		answer = []byte(strings.TrimSpace(lines[len(lines)-1]))
	}
	if len(answer) == 0 {
		return ""
	}
	if !json.Valid(answer) {
		answer, _ = json.Marshal(string(answer)) //nolint:errchkjson // a string
	}
	var safe bytes.Buffer
	json.HTMLEscape(&safe, answer)
	return safe.String()
}
