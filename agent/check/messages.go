package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
)

// messageSituations returns the situations about the agent's messages and about what an agent must be able to read.
func messageSituations() []situation {
	return []situation{
		{
			name: "messages", section: sectionAgents, needs: query, run: tryMessages,
			rule: "send JSON objects in UTF-8, of the types and with the actions and statuses that the protocol lists",
		},
		{
			name: "tx-id", section: sectionActions, needs: query, run: tryTxID,
			rule: "give each action a tx_id that is a text and was not used before",
		},
		{
			name: "extra-fields", section: sectionAgents, needs: query, prepare: addExtraFields, run: tryOrdinaryQuery,
			what: "each message had an unknown field",
			rule: "ignore fields that you do not know",
		},
		{
			name: "extra-messages", section: sectionAgents, needs: query, prepare: sendExtraMessages, run: tryOrdinaryQuery,
			what: "a message of an unknown type came before each other one",
			rule: "ignore messages of a type that you do not know",
		},
		{
			name: "long-text", section: sectionFraming, needs: query, run: tryLongText,
			what: "the query had 1 MiB of text in many scripts",
			rule: "take a query of any length, in UTF-8: a length counts bytes",
		},
	}
}

// tryOrdinaryQuery is a situation in which only what the hooks change is unusual.
func tryOrdinaryQuery(ctx context.Context, p *server) Finding { return p.judge(p.ask(ctx)) }

// tryMessages is the situation in which all messages of a turn are checked.
func tryMessages(ctx context.Context, p *server) Finding {
	_, err := p.ask(ctx)
	if err != nil {
		return p.failure(err)
	}
	frames := p.log.from(0)
	var dropped []string
	for _, f := range frames {
		if f.malformed != nil {
			return fail("%v: the server ignores the message %s", f.malformed, shorten(f.body))
		}
		if problem := unusualMessage(f); problem != "" && !slices.Contains(dropped, problem) {
			dropped = append(dropped, problem)
		}
	}
	if len(dropped) > 0 {
		return warn("%s", strings.Join(dropped, "; "))
	}
	return pass("%s, all well-formed and of known types", plural(len(frames), "message"))
}

// shorten returns the beginning of a message, to be shown.
func shorten(body []byte) string {
	const maxShown = 60
	if len(body) <= maxShown {
		return string(body)
	}
	return string(body[:maxShown]) + "…"
}

// unusualMessage returns what is wrong with a well-formed message of the agent; "" if nothing is.
func unusualMessage(f frame) string {
	switch {
	case f.Type == "":
		return fmt.Sprintf("the message %s has no type: the server drops it", shorten(f.body))
	case !slices.Contains(agentMessageTypes(), f.Type):
		return fmt.Sprintf("there is no message of type %q: the server drops it", f.Type)
	case f.Type == protocol.TypeAgentStatus && !slices.Contains(agentStatuses(), f.Status):
		return fmt.Sprintf("there is no status %q", f.Status)
	case f.Type == protocol.TypeAgentAction && !slices.Contains(agentActions(), f.Action):
		return fmt.Sprintf("there is no action %q: the server answers it with an error", f.Action)
	default:
		return ""
	}
}

// agentMessageTypes returns the types of an agent's messages.
func agentMessageTypes() []string {
	return []string{
		protocol.TypeReady, protocol.TypeAgentStatus, protocol.TypeAgentAction, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentResult,
		protocol.TypeAgentStreamStart, protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta, protocol.TypeAgentStreamStop,
		protocol.TypeAgentStreamComplete, protocol.TypeAgentUsageUpdate, protocol.TypeAgentEvent, protocol.TypeAgentError,
	}
}

// agentStatuses returns the values of an agent_status.
func agentStatuses() []string {
	return []string{
		protocol.AgentReady, protocol.AgentThinking, protocol.AgentExecuting, protocol.AgentAwaitingUser, protocol.AgentAwaitingCell,
		protocol.AgentAwaitingWidget, protocol.AgentDone,
	}
}

// agentActions returns the names of all actions.
func agentActions() []string {
	return []string{
		"get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell", "set_widget",
		"request_globals_summary", "request_reactivity_summary", "execute_code", "get_global_info", "reset_kernel_globals", submitTool,
	}
}

// tryTxID is the situation in which the tx_ids of a turn's actions are checked. An answer has the tx_id as the
// agent wrote it, so an agent whose tx_ids are numbers gets that far.
func tryTxID(ctx context.Context, p *server) Finding {
	t, err := p.ask(ctx)
	if err != nil {
		return p.failure(err)
	}
	if t.actions == 0 {
		return skipWithoutAction()
	}
	frames := p.log.from(0)
	seen := map[string]bool{}
	for _, f := range frames {
		if f.Type != protocol.TypeAgentAction {
			continue
		}
		if f.TxID == "" {
			problem, mistyped := protocol.ProblemWithTxID(f.body)
			if mistyped {
				return fail("%s: %s", f.Action, strings.Replace(problem, "it got no answer", "a server sends no answer", 1))
			}
			return warn("%s: %s", f.Action, problem)
		}
		switch {
		case strings.HasPrefix(f.TxID, protocol.ServerTxIDPrefix):
			return fail("%s: ids that begin with %s, such as %s, are the server's: the action is refused", f.Action, protocol.ServerTxIDPrefix, f.TxID)
		case seen[f.TxID]:
			return fail("%s: the tx_id %s was used before: the action is refused if the earlier one has no answer yet", f.Action, f.TxID)
		}
		seen[f.TxID] = true
	}
	return pass("%s, whose tx_ids are texts and differ", plural(t.actions, "action"))
}

// addExtraFields adds a field to every message.
func addExtraFields(p *server) {
	extra := protocol.Field{Name: "x_extra", Value: map[string]any{"list": []any{1, nil, "text", false}}}
	p.script.onMessage = func(body []byte) [][]byte { return [][]byte{withField(body, extra)} }
}

// withField returns a message with one more field.
func withField(body []byte, field protocol.Field) []byte {
	if more, err := protocol.ReplaceFields(body, field); err == nil {
		return more
	}
	return body // never: it is an object
}

// sendExtraMessages sends a message of an unknown type before each other one.
func sendExtraMessages(p *server) {
	extra := []byte(`{"type":"x_extra","message":{"type":"x_extra"},"tx_id":"tx_extra","status":"success"}`)
	p.script.onMessage = func(body []byte) [][]byte { return [][]byte{extra, body} }
}

// longTextBytes is how long the text of the query is in the situation long-text.
const longTextBytes = 1 << 20

// tryLongText is the situation in which the query has a megabyte of text in many scripts. A model may refuse it.
func tryLongText(ctx context.Context, p *server) Finding {
	const line = "Ünïcödé, 漢字, עברית, 🧪👩‍🔬, \u2028, \"quoted\", back\\slash, tab\t, <EVAL>&amp; \u0000\n"
	text := task + "\n\nThe rest of this text does not matter.\n" + strings.Repeat(line, longTextBytes/len(line))
	t, err := p.awaitTurns(ctx, p.query(text, requestID), 1)
	if err != nil || len(t.fatalErrors) == 0 {
		return p.judge(t, err)
	}
	return warn("it %s", t.describe())
}
