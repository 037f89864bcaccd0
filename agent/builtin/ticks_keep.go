package builtin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

const (
	maxDeedColumns   = 50 // of what a tick did, in a prompt
	maxCommitColumns = 80 // of the message of a commit
)

// note adds a line to the monologue. An empty one is none.
func (t *ticks) note(line string) {
	if line == "" {
		return
	}
	line = fmt.Sprintf("[%s][TICK %d] %s", t.conversation.cfg.Clock().Format("2006-01-02 15:04"), t.mind.tick, line)
	t.mind.murmur(line)
	t.report("the monologue is not kept", t.store.write(line))
}

// keep keeps the state, and commits it with a summary of the tick.
func (t *ticks) keep(ctx context.Context, summary string) {
	t.report("the state is not kept", t.store.save(t.mind))
	message := fmt.Sprintf("[TICK %d][%s][%s] %s", t.mind.tick, t.mind.activeName(), t.mind.mood, strings.TrimSpace(summary))
	message = cutColumns(strings.TrimSpace(escaped(clip(message, maxOutput))), maxCommitColumns)
	t.report("the state is not committed", t.store.commit(ctx, message, t.conversation.cfg.Clock()))
}

// report tells once of what goes wrong with the store, and no more: the mind lives
// on without it.
func (t *ticks) report(what string, err error) {
	if err != nil && !t.reported[what] {
		t.reported[what] = true
		t.conversation.wire.fail(what+": "+err.Error(), false)
	}
}

// fail ends a tick in which the model gave no reply, and the query goes on.
func (t *ticks) fail(ctx context.Context, err error) {
	if endsQuery(ctx, err) {
		return
	}
	line := "[ERROR] Inference failed: " + escaped(err.Error())
	t.mind.did("inference failed")
	t.note(line)
	t.keep(ctx, line)
	t.conversation.wire.fail(line, false)
}

// show lets who watches see the tick: what the mind thinks, or what it has to say.
func (t *ticks) show(r tickReply, result *record) {
	t.conversation.event("tick", clip(cmp.Or(r.reply, r.thought), maxOutput), map[string]any{
		"tick": t.mind.tick, "mood": t.mind.mood, "confidence": t.mind.confidence, "thread": t.mind.activeName(),
		"skipped": result.skipped, "success": result.failure == "",
	})
}

// deed is what a tick did, on one short line.
func (r tickReply) deed(result *record) string {
	short := func(text string) string { return cutColumns(escaped(clip(text, maxOutput)), maxDeedColumns) }
	var deeds []string
	switch {
	case result.failure != "":
		deeds = append(deeds, "eval failed: "+short(result.source))
	case !result.skipped:
		deeds = append(deeds, "eval: "+short(result.source))
	}
	if r.reply != "" {
		deeds = append(deeds, "reply: "+short(r.reply))
	}
	if len(deeds) == 0 {
		return "thought: " + short(r.thought)
	}
	return strings.Join(deeds, "; ")
}
