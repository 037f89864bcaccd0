package blocks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin/markdown"
	"assay/agent/builtin/render"
	"assay/internal/protocol"
)

// noOutputText replaces the output of a block that has none.
const noOutputText = "(no output)"

// outputHeading stands above the output of a block. Blocks are counted from 1.
const outputHeading = "[Block %d output]\n"

// maxFeedbackBytes bounds the outputs of all blocks of one reply together.
const maxFeedbackBytes = 8 * render.MaxTextBytes

// runnableCode returns the code of the blocks of a reply that are run: those that are
// closed and tagged with the kernel's language or with none.
func runnableCode(reply, language string) []string {
	var code []string
	for _, block := range markdown.FencedBlocks(reply) {
		if block.Closed && (block.Language == "" || slices.Contains(languageTags(language), block.Language)) {
			code = append(code, block.Text)
		}
	}
	return code
}

// languageTags returns the tags, in lower case, that a block in a kernel's language may have.
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

// runBlocks runs blocks one after the other and returns their outputs as a message for the
// model. ended is true if a block, or somebody outside, has ended the work; the remaining
// blocks are then not run.
func (t *queryTurn) runBlocks(ctx context.Context, code []string) (feedback string, ended bool) {
	t.SendStatus(protocol.AgentExecuting)
	outputs := make([]string, len(code))
	for i, source := range code {
		t.sendEvent("ai_exec", source, i+1)
		response, err := t.runBlock(ctx, source)
		if ctx.Err() != nil {
			return "", true
		}
		output := blockOutput(response, err)
		t.sendEvent("ai_exec_result", output, i+1)
		if endsTurn(response) {
			return "", true
		}
		outputs[i] = fmt.Sprintf(outputHeading, i+1) + output
	}
	return render.Clip(strings.Join(outputs, "\n"), maxFeedbackBytes), false
}

// runBlock runs code in the kernel, side by side with the code of other labels. Its error
// says why the code could not be run, or that it took longer than the cell limit.
func (t *queryTurn) runBlock(ctx context.Context, code string) (protocol.ExecuteCodeResponse, error) {
	timeout := t.Notebook.CellTimeout()
	return t.Notebook.ExecuteCode(ctx, map[string]any{"code": code, "session": t.Label, "timeout_s": timeout.Seconds()}, timeout)
}

// blockOutput returns what the model sees of a block: stdout, stderr and the value or the
// exception, or err if that is not nil.
func blockOutput(response protocol.ExecuteCodeResponse, err error) string {
	parts := []string{response.Stdout, response.Stderr}
	if response.Result != nil {
		parts = append(parts, *response.Result)
	}
	parts = append(parts, cmp.Or(response.Exception, response.Error))
	if err != nil {
		parts = []string{err.Error()}
	}
	var lines []string
	for _, part := range parts {
		if part = strings.TrimRight(part, "\n"); part != "" {
			lines = append(lines, part)
		}
	}
	return render.Clip(cmp.Or(strings.Join(lines, "\n"), noOutputText), render.MaxTextBytes)
}

// endsTurn reports whether a block was interrupted from outside, or raised an exception
// that is meant to end more than the block.
func endsTurn(response protocol.ExecuteCodeResponse) bool {
	switch response.EName {
	case "SystemExit", "KeyboardInterrupt", "CancelledError":
		return true
	}
	return response.Status == protocol.StatusInterrupted
}
