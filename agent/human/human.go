// Package human is an agent without a model: a person at a console does its work. The notebook is the
// person's, who edits and runs its cells at the console. The agent only submits the answer that the
// person sends, in the same message as any other agent, so that the person's work ends and is graded
// like an agent's.
package human

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// maxAnswerBytes is the size of the largest answer that a grader reads.
const maxAnswerBytes = 1 << 20

// agent is the agent on one connection. Its methods are called by one goroutine.
type agent struct {
	core    *builtin.AgentCore
	hasTask bool
}

// Run runs the agent on conn until conn ends, which is no error, or until ctx ends, whose cause it then
// returns. It closes conn.
//
// After the query with the task, each query of a console is the person's answer, as JSON: the agent
// submits it, and is done. An answer that is no JSON, or null, is refused with an error that is not fatal. An
// agent_cancel means that the person gives up: the agent is done without a submission.
func Run(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
	closeAtEnd := context.AfterFunc(ctx, func() { _ = conn.Close(protocol.CloseNormal, "the agent ends") })
	err := serve(conn, &agent{core: builtin.NewAgentCore(conn, cfg)})
	if !closeAtEnd() {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, conn.Close(protocol.CloseNormal, "the agent ends"))
}

// serve sends ready and handles messages of the server until the connection ends. It returns the error
// that ended it.
func serve(conn protocol.Conn, a *agent) error {
	if err := conn.Write([]byte(`{"type":"` + protocol.TypeReady + `"}`)); err != nil {
		return err
	}
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := conn.Read()
		if err != nil {
			return fmt.Errorf("read from the server: %w", err)
		}
		env, err := decoder.Decode(body)
		if err != nil {
			a.core.Config.Log.Warn("frame ignored", "error", err)
			continue
		}
		switch env.Type {
		case protocol.TypeInit:
			a.core.SendStatus(protocol.AgentReady)
		case protocol.TypeAgentQuery:
			a.handleQuery(body)
		case protocol.TypeAgentCancel:
			a.giveUp()
		}
	}
}

// handleQuery handles the query with the task, or a query with the person's answer.
func (a *agent) handleQuery(body []byte) {
	var query protocol.AgentQuery
	if err := json.Unmarshal(body, &query); err != nil {
		a.core.SendError(fmt.Sprintf("the query cannot be read: %v", err))
		return
	}
	if strings.HasPrefix(query.RequestID, protocol.TaskRequestIDPrefix) {
		a.hasTask = true
		a.core.SendStatus(protocol.AgentAwaitingUser)
		return
	}
	if err := a.submit(query); err != nil {
		a.core.SendError("not submitted: " + err.Error())
	}
}

// submit submits the answer in a query. It fails if there is no task yet or the answer is not one.
func (a *agent) submit(query protocol.AgentQuery) error {
	if !a.hasTask {
		return errors.New("there is no task yet")
	}
	answer, err := checkAnswer(query.Query)
	if err != nil {
		return err
	}
	input, err := protocol.Marshal(builtin.Submission{
		Summary: "<EVAL_ANSWER>" + answer + "</EVAL_ANSWER> " + builtin.CompleteMarker, NextStatus: protocol.AgentDone,
	})
	if err != nil {
		return err
	}
	a.core.SendMessage(query.RequestID, builtin.AssistantMessage(model.ToolUse("toolu_submit_1", builtin.SubmitTool, input)), nil)
	a.core.SendStatus(protocol.AgentDone)
	return nil
}

// giveUp ends the attempt without a submission. It does nothing if there is no task yet.
func (a *agent) giveUp() {
	if a.hasTask {
		a.core.SendError("the person gave up")
		a.core.SendStatus(protocol.AgentDone)
	}
}

// checkAnswer returns a person's answer as JSON in which < and > are escaped, so that it contains no
// tag. It fails if the text is not JSON, is null, which counts as no answer, or is too large.
func checkAnswer(text string) (string, error) {
	var compact, safe bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return "", fmt.Errorf("the answer is not valid JSON: %w", err)
	}
	json.HTMLEscape(&safe, compact.Bytes())
	switch {
	case safe.String() == "null":
		return "", errors.New("null counts as no answer")
	case safe.Len() > maxAnswerBytes:
		return "", fmt.Errorf("the answer has %d bytes, more than %d", safe.Len(), maxAnswerBytes)
	}
	return safe.String(), nil
}
