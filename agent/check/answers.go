package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/protocol"
)

const (
	// slowAnswerDelay is how late answers come in the situation slow-answers, and slowAnswerCount how many are late.
	slowAnswerDelay = time.Second
	slowAnswerCount = 3

	// bigFieldBytes is how long a field of each answer is in the situation big-messages, and how long the outputs of
	// another cell are together.
	bigFieldBytes = 10 << 20

	// survivalTimeout is how long an agent must live on after a late answer.
	survivalTimeout = 500 * time.Millisecond
)

// answerSituations returns the situations in which the answers to actions are unusual.
func answerSituations() []situation {
	return []situation{
		{
			name: "slow-answers", section: sectionActions, needs: query, prepare: delayAnswers, run: tryQueryWithActions,
			what: fmt.Sprintf("the first %d answers came after %v each", slowAnswerCount, slowAnswerDelay),
			rule: "wait up to 10 s for an answer",
		},
		{
			name: "no-answer", section: sectionActions, needs: query, prepare: withholdAnswerInTime, run: duringAction(tryNoAnswer),
			rule: "give up on an action after 10 s, and go on without its answer",
		},
		{
			name: "late-answer", section: sectionActions, needs: query, prepare: withholdAnswerInTime, run: duringAction(tryLateAnswer),
			rule: "ignore the answer to an action that was given up",
		},
		{
			name: "error-answers", section: sectionActions, needs: query, prepare: failActions, run: tryErrorAnswers,
			rule: "read the status of an answer: after an error no cell runs",
		},
		{
			name: "big-messages", section: sectionFraming, needs: query, prepare: enlargeAnswers, run: tryBigMessages,
			what: "answers, and the result of another cell, had 10 MiB each",
			rule: "read frames of up to 64 MiB, also while you work",
		},
		{
			name: "stray-answers", section: sectionActions, needs: query, prepare: sendStrayAnswers, run: tryQueryWithActions,
			what: "an answer to an unknown action came before each answer",
			rule: "match answers to actions by tx_id alone: another action may be answered first",
		},
		{
			name: "second-answers", section: sectionActions, needs: query, prepare: sendAnswersTwice, run: tryQueryWithActions, isTolerable: true,
			what: "each answer came twice",
			rule: "ignore a second answer to an action",
		},
	}
}

// tryQueryWithActions is like tryOrdinaryQuery, for situations that an agent without actions does not meet.
func tryQueryWithActions(ctx context.Context, p *server) Finding {
	t, err := p.ask(ctx)
	if err == nil && t.actions == 0 {
		return skipWithoutAction()
	}
	return p.judge(t, err)
}

func skipWithoutAction() Finding { return skip("the agent sent no action") }

// changeAnswers has the server send what change returns in place of each answer to an action.
func (p *server) changeAnswers(change func(body []byte) [][]byte) {
	p.script.onMessage = func(body []byte) [][]byte {
		if !bytes.HasPrefix(body, []byte(`{"type":"`+protocol.TypeActionResponse+`"`)) { // server.answer puts the type first
			return [][]byte{body}
		}
		return change(body)
	}
}

// delayAnswers makes the first answers come late.
func delayAnswers(p *server) {
	late := make(chan bool, slowAnswerCount) // has a value for each answer that is still to be late
	for range slowAnswerCount {
		late <- true
	}
	p.changeAnswers(func(body []byte) [][]byte {
		select {
		case <-late:
			select {
			case <-time.After(slowAnswerDelay):
			case <-p.outbox.stopped:
			}
		default:
		}
		return [][]byte{body}
	})
}

// withheldAction is an action of the agent that is not answered yet.
type withheldAction struct {
	frame frame
	id    string // ours
}

// withholdFirstAnswer does not carry out the first action of the agent, and sets script.withheld to it.
func withholdFirstAnswer(p *server) {
	p.script.onAction = func(f frame, id string) (handled bool) {
		return p.script.withheld.CompareAndSwap(nil, &withheldAction{frame: f, id: id})
	}
}

// withholdAnswerInTime is like withholdFirstAnswer, for the first action that the agent must give up after 10 s: not
// execute_code, whose time limit it chooses, nor a submission, for whose answer it need not wait.
func withholdAnswerInTime(p *server) {
	p.script.onAction = func(f frame, id string) (handled bool) {
		return f.Action != protocol.TypeExecuteCode && f.Action != submitTool && p.script.withheld.CompareAndSwap(nil, &withheldAction{frame: f, id: id})
	}
}

// awaitWithheld sends the agent the task and waits for the action that is withheld. It returns nil if the turn
// ends without one. from is the number of the first frame of the turn.
func (p *server) awaitWithheld(ctx context.Context) (action *withheldAction, from int, err error) {
	from = p.query(task, requestID)
	err = p.log.await(ctx, from, p.cfg.QueryTimeout, "no action came, and its turn has not ended", func(frames []frame) (bool, time.Time) {
		if p.script.withheld.Load() != nil {
			return true, time.Time{}
		}
		t := readTurn(frames)
		return t.isOver(1, time.Now())
	})
	return p.script.withheld.Load(), from, err
}

// duringAction returns a situation's function that calls try with the action that is withheld, and is a skip if
// there is none.
func duringAction(try func(ctx context.Context, p *server, action *withheldAction, from int) Finding) func(context.Context, *server) Finding {
	return func(ctx context.Context, p *server) Finding {
		action, from, err := p.awaitWithheld(ctx)
		switch {
		case err != nil:
			return p.failure(err)
		case action == nil && readTurn(p.log.from(from)).actions > 0:
			return skip("the agent sent no action that it must give up after 10 s")
		case action == nil:
			return skipWithoutAction()
		default:
			return try(ctx, p, action, from)
		}
	}
}

// awaitNextStep waits until the agent goes on without the answer to a withheld action, at most
// Config.AnswerTimeout, and returns how long it has waited for the answer.
func (p *server) awaitNextStep(ctx context.Context, action *withheldAction) (waited time.Duration, err error) {
	f, err := p.log.awaitFrame(ctx, 0, p.cfg.AnswerTimeout, "it did not go on", func(f frame) bool {
		return f.at.After(action.frame.at) && isStep(f)
	})
	return f.at.Sub(action.frame.at), err
}

// isStep reports whether a frame is a step of the agent's work, and not only a sign of life.
func isStep(f frame) bool {
	switch f.Type {
	case protocol.TypeAgentAction, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentResult, protocol.TypeAgentError:
		return true
	case protocol.TypeAgentStatus:
		return isFinalStatus(f.Status)
	default:
		return false
	}
}

// tryNoAnswer is the situation in which an action is never answered.
func tryNoAnswer(ctx context.Context, p *server, action *withheldAction, from int) Finding {
	waited, err := p.awaitNextStep(ctx, action)
	if isSilent(err) {
		return warn("%s was not answered, and the agent was silent for %v", action.frame.Action, p.cfg.AnswerTimeout)
	}
	if err != nil {
		return p.failure(err)
	}
	t, err := p.awaitTurns(ctx, from, 1)
	if err != nil {
		return p.failure(err)
	}
	return pass("%s was not answered; the agent went on after %v, and %s", action.frame.Action, round(waited), t.describe())
}

// tryLateAnswer is the situation in which an answer comes when the agent has given up on its action.
func tryLateAnswer(ctx context.Context, p *server, action *withheldAction, from int) Finding {
	when := fmt.Sprintf("after %v, and the agent had not given up", p.cfg.AnswerTimeout)
	waited, err := p.awaitNextStep(ctx, action)
	switch {
	case err == nil:
		when = fmt.Sprintf("when the agent had given up, after %v", round(waited))
	case !isSilent(err):
		return p.failure(err)
	}
	p.notebook.carryOut(action.frame, action.id)
	t, err := p.awaitTurns(ctx, from, 1)
	if err == nil {
		err = p.awaitSurvival(ctx)
	}
	if err != nil {
		return p.failure(err)
	}
	return pass("the answer to %s came %s; it %s", action.frame.Action, when, t.describe())
}

// awaitSurvival fails if the agent's process ends within survivalTimeout, other than by exiting with status 0.
func (p *server) awaitSurvival(ctx context.Context) error {
	err := p.log.awaitEnd(ctx, survivalTimeout)
	if exited, code := exitCode(err); isSilent(err) || exited && code == 0 {
		return nil
	}
	return err
}

// failActions answers every action with an error.
func failActions(p *server) {
	p.script.onAction = func(f frame, id string) bool {
		p.answerWith(id, map[string]any{"status": protocol.StatusError, "error": "the notebook did not answer '" + f.Action + "' within 8s"})
		return true
	}
}

// tryErrorAnswers is the situation in which every action fails.
func tryErrorAnswers(ctx context.Context, p *server) Finding {
	t, err := p.ask(ctx)
	switch {
	case err != nil:
		return p.failure(err)
	case t.actions == 0:
		return skipWithoutAction()
	default:
		return pass("each action failed; it %s", t.describe())
	}
}

// enlargeAnswers gives every answer a large field.
func enlargeAnswers(p *server) {
	padding := `,"x_padding":"` + strings.Repeat("A", bigFieldBytes) + `"}`
	p.changeAnswers(func(body []byte) [][]byte { return [][]byte{append(bytes.TrimSuffix(body, []byte("}")), padding...)} })
}

// tryBigMessages is the situation in which answers are large, and a cell that is not the agent's shows three large
// images.
func tryBigMessages(ctx context.Context, p *server) Finding {
	const image = `{"output_type":"display_data","data":{"image/png":"A"},"metadata":{}}`
	result, err := protocol.Marshal(protocol.KernelMessageResult{
		CellResult: newCellResult(otherCell, 1, protocol.StatusOK, ""), CellOutputs: slices.Repeat([]json.RawMessage{json.RawMessage(image)}, 3),
	})
	if err != nil {
		return fail("%v", err)
	}
	large := bytes.ReplaceAll(result, []byte(`"A"`), []byte(`"`+strings.Repeat("A", bigFieldBytes/3)+`"`))
	from := p.query(task, requestID)
	p.sendBody(fmt.Appendf(nil, `{"type":%q,"message":%s}`, protocol.TypeKernelMessage, large))
	return p.judge(p.awaitTurns(ctx, from, 1))
}

// sendStrayAnswers sends an answer with an unknown tx_id before each answer.
func sendStrayAnswers(p *server) {
	p.changeAnswers(func(body []byte) [][]byte {
		stray, err := protocol.Marshal(protocol.NewActionError(protocol.NewTxID(), "this answers an action of somebody else"))
		if err != nil {
			return [][]byte{body}
		}
		return [][]byte{stray, body}
	})
}

// sendAnswersTwice sends every answer twice.
func sendAnswersTwice(p *server) {
	p.changeAnswers(func(body []byte) [][]byte { return [][]byte{body, body} })
}
