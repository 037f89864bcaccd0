// Package ticks is the strategy of an agent that works in ticks. In each tick the model is
// shown the agent's state and answers with one JSON object: code to run, and changes to the
// state. What was said in earlier ticks is not sent again.
//
// One tick: call the model and parse its reply, update mood and threads, run the code,
// record the result in the monologue, save and commit the state, show the tick to users.
package ticks

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// StrategyName is the name by which configurations and init messages select the tick
// strategy.
const StrategyName = "ticks"

// maxTicksPerQuery is the maximum number of ticks for one query.
const maxTicksPerQuery = 10

// maxRepliesPerTick is how many times per tick the model is called until a reply has a JSON
// object.
const maxRepliesPerTick = 3

// submitReminder is added to the query once, in an evaluation, if the model rests without
// having submitted.
const submitReminder = "Nothing has been submitted yet. If your work is finished, say your whole answer in reply, with the marker " +
	builtin.CompleteMarker + ", as the task asks for it; otherwise go on with continue."

// noObjectNoteText tells the model that its reply had no JSON object.
const noObjectNoteText = "Your last reply holds no JSON object, so nothing of it was done. Answer with one JSON object and nothing else: " +
	`{"eval": "code or null", "thought": "…", "mood": "…", "confidence": 0.5, "monologue": "…", "reply": "text or null", "continue": false}`

// Config configures an agent that works in ticks.
type Config struct {
	Agent     builtin.Config
	SkillsDir string // has a folder with a SKILL.md for each skill; "" means no skills
	StateDir  string // folder for the state, created if it is missing; "" keeps no state
}

// Run runs an agent that works in ticks, until conn or ctx ends; see [builtin.Run]. It
// returns an error before the first frame if the skills or the stored state cannot be read.
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	return builtin.Run(ctx, conn, cfg.Agent, StrategyName, func(core *builtin.AgentCore) (builtin.Strategy, error) {
		return newStrategy(core, cfg)
	})
}

// strategy is the builtin.Strategy of an agent in ticks.
type strategy struct {
	conversation *builtin.Conversation // messages of the current tick
	state        *tickState
	store        *stateStore
	skills       skillsFolder

	pendingQuery  string          // text of the query that is being worked on; "" between queries
	reminded      bool            // in this query
	reportedFault map[string]bool // store faults that have been reported
}

func newStrategy(core *builtin.AgentCore, cfg Config) (builtin.Strategy, error) {
	s := &strategy{conversation: builtin.NewConversation(core), reportedFault: map[string]bool{}}
	s.conversation.RequestNumber = 1
	var err error
	if s.skills, err = openSkillsFolder(cfg.SkillsDir); err != nil {
		return nil, err
	}
	if s.store, s.state, err = openStateStore(cfg.StateDir); err != nil {
		return nil, err
	}
	return builtin.NewSingleConversationStrategy(s.conversation, s.answer), nil
}

// answer works on one query: it runs up to ten ticks, until the model neither continues nor
// must be reminded to submit. A failed model call costs only its tick; if the last tick
// fails, answer returns its error. It returns a LimitError after ten ticks without an end.
func (s *strategy) answer(ctx context.Context, query protocol.AgentQuery) (status string, err error) {
	s.pendingQuery, s.reminded = builtin.QueryText(query), false
	defer func() { s.pendingQuery = "" }()
	var failure error
	for range maxTicksPerQuery {
		var rests bool
		rests, failure = s.runTick(ctx)
		if rests || isQueryEndingError(ctx, failure) {
			return protocol.AgentDone, failure
		}
	}
	if failure != nil {
		return "", failure
	}
	return "", &builtin.LimitError{Limit: "ticks", Configured: maxTicksPerQuery, Measured: maxTicksPerQuery}
}

// isQueryEndingError reports whether the error of a tick ends the query at once: because ctx has
// ended, a limit was reached or the model declined. Other errors cost only the tick.
func isQueryEndingError(ctx context.Context, err error) bool {
	_, limited := errors.AsType[*builtin.LimitError](err)
	_, declined := errors.AsType[*builtin.DeclinedError](err)
	return err != nil && (ctx.Err() != nil || limited || declined)
}

// runTick runs one tick: it calls the model, applies its reply to the state, runs the code,
// saves the state and reports the tick. rests is true if the query is finished.
func (s *strategy) runTick(ctx context.Context) (rests bool, err error) {
	s.state.tick++
	defer s.conversation.DropMessages()
	reply, err := s.callModel(ctx)
	if err != nil {
		s.recordFailedModelCall(ctx, err)
		return false, err
	}
	s.state.setMood(reply.tickReply)
	threadErr := s.state.changeThreads(reply.thread)
	result, err := s.runEval(ctx, reply.eval)
	if err != nil {
		return false, err
	}
	s.state.lastEval = result
	s.state.addAction(reply.actionText(result))
	s.addMonologueLine(result.monologueLine())
	if threadErr != nil {
		s.addMonologueLine("THREAD ERROR: " + threadErr.Error())
	}
	s.addMonologueLine(escapeLine(clipText(reply.monologue)))
	s.saveState(ctx, cmp.Or(reply.monologue, reply.thought))
	s.sendTickEvent(reply.tickReply, result)
	return s.finishTick(reply)
}

// finishTick submits, continues or rests. In an evaluation the model is reminded once to
// submit before the agent rests.
func (s *strategy) finishTick(reply modelReply) (rests bool, err error) {
	switch {
	case reply.submits:
		return true, s.conversation.Submit(reply.reply, &reply.response.Usage, model.Text(reply.jsonWithoutReplyField()))
	case reply.continues:
		return false, nil
	case !s.conversation.EvalMode || s.reminded:
		return true, nil
	}
	s.reminded = true
	s.pendingQuery += "\n\n" + submitReminder
	return false, nil
}

// modelReply is a parsed reply of the model and the response that it came in. A reply that
// submits is added to the conversation only at the end of the tick, because a console that sees it
// may take the work for finished.
type modelReply struct {
	tickReply
	response *model.Response
	submits  bool
}

// callModel sends the model the agent's state and returns its parsed reply. If a reply has
// no JSON object it asks again, up to three times in total; the text of the third such reply
// is taken as the thought.
func (s *strategy) callModel(ctx context.Context) (modelReply, error) {
	modelCall := &builtin.ModelCall{Conversation: s.conversation, System: s.stableSystemBlocks(), VolatileSystem: s.state.stateSystemBlocks()}
	s.conversation.AddUserText(s.tickPrompt(ctx))
	for replies := 1; ; replies++ {
		response, err := modelCall.Reply(ctx)
		if err != nil {
			return modelReply{}, err
		}
		response.Content = builtin.WithoutBlockType(model.BlockToolUse, response.Content) // there are no tools
		parsed, ok := parseTickReply(builtin.ReplyText(response))
		reply := modelReply{tickReply: parsed, response: response, submits: s.isSubmission(parsed)}
		if !reply.submits {
			s.conversation.AddReply(response)
		}
		if ok || replies == maxRepliesPerTick {
			return reply, nil
		}
		s.conversation.AddUserText(noObjectNoteText)
	}
}

// isSubmission reports whether a reply is submitted: in an evaluation, a text for the user
// without continue, if it has the marker or the model has been reminded.
func (s *strategy) isSubmission(r tickReply) bool {
	return s.conversation.EvalMode && r.reply != "" && !r.continues && (s.reminded || strings.Contains(r.reply, builtin.CompleteMarker))
}
