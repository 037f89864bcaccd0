package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"assay/internal/model/script"
	"assay/internal/protocol"
)

// Solution is what an oracle plays: cells and an answer, or the turns of a
// scripted model.
type Solution struct {
	Cells  []string        // sources
	Answer json.RawMessage // nil: the last line that the last cell printed
	Turns  *script.Script  // instead of both
}

// ReadSolution reads a file for [ParseSolution].
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

// ParseSolution reads a solution, which is JSON: {cells: [source], answer?} or
// {turns: [line of a script]}; a list of strings stands for cells, one of
// objects for turns.
func ParseSolution(data []byte) (Solution, error) {
	var in struct {
		Cells  []string          `json:"cells"`
		Answer json.RawMessage   `json:"answer"`
		Turns  []json.RawMessage `json:"turns"`
	}
	list := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	switch {
	case list && json.Unmarshal(data, &in.Cells) == nil:
	case list:
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
	script, err := scriptOf(in.Turns)
	return Solution{Turns: script}, err
}

// scriptOf writes each turn on a line of its own.
func scriptOf(turns []json.RawMessage) (*script.Script, error) {
	var lines bytes.Buffer
	for _, turn := range turns {
		if err := json.Compact(&lines, turn); err != nil {
			return nil, err
		}
		lines.WriteByte('\n')
	}
	return script.Parse("turns", lines.Bytes())
}

// RunOracle is the agent that knows the solution. At a query it creates the
// cells at the end of the notebook and runs them, in order and whatever becomes
// of them, and submits the answer; turns it plays as the model of [Run]. It
// ends as [Run] does.
func RunOracle(ctx context.Context, conn protocol.Conn, solution Solution, cfg Config) error {
	if solution.Turns != nil {
		cfg.Model, cfg.ModelName = solution.Turns.Client(), ""
		return Run(ctx, conn, cfg)
	}
	a, err := newAgent(conn, cfg, func(c *core) (strategy, error) {
		o := &oracle{solution: solution, conversation: newConversation(c)}
		return &single{o.conversation, o.answer}, nil
	})
	if err != nil {
		return err
	}
	return a.run(ctx)
}

// oracle is the strategy that plays cells.
type oracle struct {
	solution     Solution
	conversation *conversation
}

func (o *oracle) answer(ctx context.Context, _ protocol.AgentQuery) (string, error) {
	o.conversation.wire.status(protocol.AgentExecuting)
	printed, failed, err := o.play(ctx)
	if err != nil {
		return "", err
	}
	summary := "The cells of the solution were run; the last of them printed nothing, so there is no answer." + failed
	if answer := o.solution.answerFrom(printed); answer != "" {
		summary = "The cells of the solution were run.\n<EVAL_ANSWER>" + answer + "</EVAL_ANSWER>"
	}
	if err := o.conversation.submit(summary+"\n[EVAL_COMPLETE]", nil); err != nil {
		return "", err
	}
	return protocol.AgentDone, nil
}

// play runs the cells and returns what the last of them printed, and a sentence
// about the first that failed, if one has.
func (o *oracle) play(ctx context.Context) (printed, failed string, err error) {
	present, err := o.conversation.notebook.cells(ctx)
	if err != nil {
		return "", "", err
	}
	position := len(present)
	for i, source := range o.solution.Cells {
		run, err := o.conversation.notebook.createAndRun(ctx, params{"position": position, "cell_type": "code", "source": source, "auto_run": true})
		printed = ""
		switch {
		case ctx.Err() != nil:
			return "", "", context.Cause(ctx)
		case err != nil:
			o.conversation.wire.fail(fmt.Sprintf("cell %d of the solution: %v", i+1, err), false)
			continue
		case run.result == nil:
			o.conversation.wire.fail(fmt.Sprintf("cell %d of the solution still runs after %s seconds", i+1, inSeconds(run.waited)), false)
		default:
			printed = run.result.Logs
			if exception := strings.TrimSpace(run.result.Exception); failed == "" && exception != "" {
				failed = fmt.Sprintf(" Cell %d failed: %s", i+1, exception[strings.LastIndexByte(exception, '\n')+1:])
			}
		}
		position++
	}
	return printed, failed, nil
}

// answerFrom is the answer as JSON: that of the solution, else the last line
// printed, which is a string where it is no JSON; "" when there is neither. It
// holds no < that could be taken for a tag.
func (s Solution) answerFrom(printed string) string {
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
