package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
)

// noOutput stands for the output of a block that has none.
const noOutput = "(no output)"

// outputHeading stands above the output of a block, which is counted from 1.
const outputHeading = "[Block %d output]\n"

// maxFeedback is how many bytes the outputs of one reply may have together.
const maxFeedback = 8 * maxOutput

// codeIn returns the code of the blocks of a reply that are run: those that are
// closed and in the kernel's language, or in none.
func codeIn(reply, language string) []string {
	var code []string
	for _, block := range fencedBlocks(reply) {
		if block.closed && (block.info == "" || slices.Contains(languageTags(language), block.info)) {
			code = append(code, block.text)
		}
	}
	return code
}

// languageTags are what a block in a kernel's language may be tagged with, in
// lower case.
func languageTags(language string) []string {
	language = strings.ToLower(language)
	switch language {
	case "python":
		return []string{"python", "py", "python3"}
	case "elisp":
		return []string{"elisp", "emacs-lisp", "lisp"}
	}
	return []string{language}
}

// execute runs blocks one after the other and returns their outputs as the model
// is told of them. It reports whether a block, or somebody outside, has ended the
// work; what is left is not run then.
func (t *blocksTurn) execute(ctx context.Context, code []string) (feedback string, ended bool) {
	t.wire.status(protocol.AgentExecuting)
	outputs := make([]string, len(code))
	for i, source := range code {
		t.show("ai_exec", source, i+1)
		end, err := t.runBlock(ctx, source)
		if ctx.Err() != nil {
			return "", true
		}
		output := blockOutput(end, err)
		t.show("ai_exec_result", output, i+1)
		if endsWork(end) {
			return "", true
		}
		outputs[i] = fmt.Sprintf(outputHeading, i+1) + output
	}
	return clip(strings.Join(outputs, "\n"), maxFeedback), false
}

// runBlock runs code in the kernel, side by side with what other labels run
// there. Its error says why the code could not be run, or that it took too long.
func (t *blocksTurn) runBlock(ctx context.Context, code string) (protocol.ExecuteCodeResponse, error) {
	limit := t.notebook.limits.Cell
	p := params{"code": code, "session": t.label, "timeout_s": limit.Seconds()}
	return t.notebook.execute(ctx, p, limit).executed()
}

// blockOutput is what the model is told of a block: stdout, then stderr, then the
// value, or why there is none.
func blockOutput(end protocol.ExecuteCodeResponse, err error) string {
	parts := []string{end.Stdout, end.Stderr}
	if end.Result != nil {
		parts = append(parts, *end.Result)
	}
	parts = append(parts, cmp.Or(end.Exception, end.Error))
	if err != nil {
		parts = []string{err.Error()}
	}
	var lines []string
	for _, part := range parts {
		if part = strings.TrimRight(part, "\n"); part != "" {
			lines = append(lines, part)
		}
	}
	return clip(cmp.Or(strings.Join(lines, "\n"), noOutput), maxOutput)
}

// endsWork tells whether a block was stopped from outside, or raised what is
// meant to end more than itself.
func endsWork(end protocol.ExecuteCodeResponse) bool {
	switch end.EName {
	case "SystemExit", "KeyboardInterrupt", "CancelledError":
		return true
	}
	return end.Status == protocol.StatusInterrupted
}

// show lets who watches see a reply or, with a number from 1, a block or its
// output.
func (t *blocksTurn) show(kind, text string, block int) {
	event := protocol.AgentEvent{
		Type: protocol.TypeAgentEvent, Channel: "ai", Mode: "NL", Text: text,
		Metadata: t.whose(map[string]any{"type": kind, "task": t.title}),
	}
	if block > 0 {
		event.Channel, event.Mode, event.Metadata["block"] = "py", "PY", block
	}
	t.wire.tell(event)
}
