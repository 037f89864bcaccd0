package builtin

import (
	"context"
	"strings"

	"assay/internal/model"
)

// maxParses is how many replies of a tick are looked at for an object.
const maxParses = 3

// parseFault tells the model that its reply could not be read.
const parseFault = "Your last reply holds no JSON object, so nothing of it was done. Answer with one JSON object and nothing else: " +
	`{"eval": "code or null", "thought": "…", "mood": "…", "confidence": 0.5, "monologue": "…", "reply": "text or null", "continue": false}`

// thinking is a reply of the model, and what it says. One that submits is not
// committed before the tick is over: whoever sees it may take the work for finished.
type thinking struct {
	tickReply
	response *model.Response
	submits  bool
}

// think shows the model its state until it answers with an object, three times at
// most.
func (t *ticks) think(ctx context.Context) (thinking, error) {
	asking := &asking{conversation: t.conversation, system: t.stable(), state: t.mind.state()}
	t.conversation.say(t.prompt(ctx))
	for parses := 1; ; parses++ {
		response, err := asking.reply(ctx)
		if err != nil {
			return thinking{}, err
		}
		response.Content = without(model.BlockToolUse, response.Content) // there are no tools
		reply, ok := parseTick(replyText(response))
		said := thinking{tickReply: reply, response: response, submits: t.submits(reply)}
		if !said.submits {
			t.conversation.keep(response)
		}
		if ok || parses == maxParses {
			return said, nil
		}
		t.conversation.say(parseFault)
	}
}

// submits tells whether a reply is handed in: in an evaluation one that comes to
// rest, with the marker, or without it when the model has been reminded.
func (t *ticks) submits(r tickReply) bool {
	return t.conversation.evalMode && r.reply != "" && !r.goesOn && (t.nudged || strings.Contains(r.reply, completeMark))
}
