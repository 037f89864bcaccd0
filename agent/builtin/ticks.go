package builtin

import (
	"cmp"
	"context"
	"errors"

	"assay/internal/model"
	"assay/internal/protocol"
)

// maxTicks is how many ticks follow each other without a human.
const maxTicks = 10

// ticksNudge reminds a model that comes to rest and has submitted nothing.
const ticksNudge = "Nothing has been submitted yet. If your work is finished, say your whole answer in reply, with the marker " +
	completeMark + ", as the task asks for it; otherwise go on with continue."

// ticks is the strategy of a mind that lives in ticks. In each tick the model is
// shown the state and says one JSON object; what was said in earlier ticks is not
// sent again.
type ticks struct {
	conversation *conversation // the tick that is under way
	mind         *mind
	store        *store
	skills       skills

	pending  string          // what the user has asked for; "" between queries
	nudged   bool            // in this query
	reported map[string]bool // what could not be kept, and has been told of
}

// newTicks reads the state and looks which skills there are.
func newTicks(c *core) (strategy, error) {
	t := &ticks{conversation: newConversation(c), reported: map[string]bool{}}
	t.conversation.turn = 1
	var err error
	if t.skills, err = openSkills(c.cfg.SkillsDir); err != nil {
		return nil, err
	}
	if t.store, t.mind, err = openStore(c.cfg.StateDir); err != nil {
		return nil, err
	}
	return &single{t.conversation, t.answer}, nil
}

// answer works on one query: tick follows tick until one comes to rest. A call of
// the model that fails costs its tick, and only the last one the query.
func (t *ticks) answer(ctx context.Context, query protocol.AgentQuery) (string, error) {
	t.pending, t.nudged = queryText(query), false
	defer func() { t.pending = "" }()
	var failure error
	for range maxTicks {
		var rests bool
		rests, failure = t.tick(ctx)
		if rests || endsQuery(ctx, failure) {
			return protocol.AgentDone, failure
		}
	}
	if failure != nil {
		return "", failure
	}
	return "", &limitError{limit: "ticks", configured: maxTicks, measured: maxTicks}
}

// endsQuery tells an error that ends a query at once from the failure of a call of
// the model.
func endsQuery(ctx context.Context, err error) bool {
	_, limit := errors.AsType[*limitError](err)
	return err != nil && (ctx.Err() != nil || limit || errors.Is(err, errDeclined))
}

// tick is one tick. It reports whether the mind comes to rest.
func (t *ticks) tick(ctx context.Context) (rests bool, err error) {
	t.mind.tick++
	defer func() { t.conversation.messages = nil }()
	said, err := t.think(ctx)
	if err != nil {
		t.fail(ctx, err)
		return false, err
	}
	t.mind.feel(said.tickReply)
	fault := t.mind.changeThreads(said.thread)
	result, err := t.evaluate(ctx, said.eval)
	if err != nil {
		return false, err
	}
	t.mind.last = result
	t.mind.did(said.deed(result))
	t.note(result.line())
	if fault != nil {
		t.note("THREAD ERROR: " + fault.Error())
	}
	t.note(escaped(clip(said.monologue, maxOutput)))
	t.keep(ctx, cmp.Or(said.monologue, said.thought))
	t.show(said.tickReply, result)
	return t.settle(said)
}

// settle ends a tick: it submits, goes on or comes to rest. In an evaluation the
// model is reminded once to submit.
func (t *ticks) settle(said thinking) (rests bool, err error) {
	switch {
	case said.submits:
		return true, t.conversation.submit(said.reply, &said.response.Usage, model.Text(said.withoutReply()))
	case said.goesOn:
		return false, nil
	case !t.conversation.evalMode || t.nudged:
		return true, nil
	}
	t.nudged = true
	t.pending += "\n\n" + ticksNudge
	return false, nil
}
