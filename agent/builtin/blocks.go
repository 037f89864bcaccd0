package builtin

import (
	"context"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/protocol"
)

// completeMark stands in the summary of a submission that is meant.
const completeMark = "[EVAL_COMPLETE]"

// blocksNudge reminds a model whose final reply lacks the mark.
const blocksNudge = "Nothing has been submitted yet: your reply does not contain " + completeMark + ". " +
	"If your work is finished, say your whole answer again with the marker, as the task asks for it; otherwise go on with code blocks."

// blocks is the strategy that works by code in replies: the fenced blocks of a
// reply are run in the kernel, what they print is fed back, and so on until a
// reply has none. Each label has a conversation of its own.
type blocks struct {
	*core
	labels  *labels
	journal journal
}

func newBlocks(c *core) (strategy, error) { return &blocks{core: c, labels: newLabels(c)}, nil }

func (b *blocks) conversations() []*conversation { return b.labels.all() }

func (b *blocks) forget() {
	for _, c := range b.labels.all() {
		c.clear()
	}
	b.journal.forget()
}

func (b *blocks) dispatch(query protocol.AgentQuery, evaluation bool) task {
	var conversation *conversation
	conversation, query.Query = b.labels.bind(query.Query, !evaluation)
	return task{conversation, func(ctx context.Context) (string, error) {
		asking := &asking{conversation: conversation, system: []model.Block{model.Text(b.systemPrompt())}, rounds: blockRounds(b.language)}
		turn := &blocksTurn{asking: asking, journal: &b.journal, title: taskTitle(conversation.label, query.Query)}
		return turn.run(ctx, queryText(query))
	}}
}

// blocksTurn is the work on one query.
type blocksTurn struct {
	*asking
	journal *journal // of all labels
	title   string   // of the work, for who watches
	nudged  bool
}

// run asks the model and runs its blocks until a reply has none, and returns the
// status that the turn ends with.
func (t *blocksTurn) run(ctx context.Context, prompt string) (string, error) {
	t.open(ctx, prompt)
	for round := 0; ; round++ {
		reply, code, err := t.next(ctx)
		if err != nil {
			return "", err
		}
		if len(code) == 0 {
			return protocol.AgentDone, t.handIn(reply)
		}
		t.keep(reply)
		if most := t.cfg.MaxEvalIters; round >= most {
			return "", &limitError{limit: "max_eval_iters", configured: most, measured: round}
		}
		feedback, ended := t.execute(ctx, code)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case ended:
			return protocol.AgentDone, nil
		}
		t.say(feedback)
		t.journal.add(t.label, speakerOutput, feedback)
	}
}

// open says the first message: what other labels have done, which names there
// are, and the prompt.
func (t *blocksTurn) open(ctx context.Context, prompt string) {
	sections := []string{t.journal.others(t.label), t.notebook.namespace(ctx), prompt}
	t.say(strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n"))
	t.journal.add(t.label, speakerUser, prompt)
}

// next asks for the next reply and returns the code in it, none when the reply is
// final. In an evaluation the model is reminded once to submit.
func (t *blocksTurn) next(ctx context.Context) (*model.Response, []string, error) {
	for {
		reply, err := t.reply(ctx)
		if err != nil {
			return nil, nil, err
		}
		// There are no tools: a call means nothing, least of all a submission.
		reply.Content = without(model.BlockToolUse, reply.Content)
		text := model.PlainText(reply.Content)
		t.show("response", text, 0)
		t.journal.add(t.label, speakerAssistant, text)
		code := codeIn(text, t.language)
		if len(code) > 0 || !t.evalMode || t.nudged || strings.Contains(text, completeMark) {
			return reply, code, nil
		}
		t.nudged = true
		t.keep(reply)
		t.say(blocksNudge)
	}
}

// handIn commits the final reply, in an evaluation as the submission.
func (t *blocksTurn) handIn(reply *model.Response) error {
	if !t.evalMode {
		t.keep(reply)
		return nil
	}
	return t.submit(replyText(reply), &reply.Usage, without(model.BlockText, reply.Content)...)
}

// without returns the blocks of a reply but for those of a type.
func without(kind string, blocks []model.Block) []model.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool { return b.Type == kind })
}
