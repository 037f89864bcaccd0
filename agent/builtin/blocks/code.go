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

// noOutputText is what the model gets as the output of a code block that printed and
// returned nothing.
const noOutputText = "(no output)"

// outputHeading is the format of the line above the output of a code block; %d is the number
// of the block in its reply, from 1.
const outputHeading = "[Block %d output]\n"

// maxFeedbackBytes is the maximum size, in bytes, of the outputs of all code blocks of one
// reply together.
const maxFeedbackBytes = 8 * render.MaxTextBytes

// runnableCode returns the code of those fenced blocks of a reply that must be run: blocks
// that are closed and have the language tag of the kernel, or no tag.
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

// runBlocks runs the code blocks of a reply one after the other and returns their outputs as
// a message for the model. ended is true if a block was interrupted, raised an exception
// that ends the turn, or ctx has ended; the remaining blocks are then not run.
func (t *queryAnswerer) runBlocks(ctx context.Context, code []string) (feedback string, ended bool) {
	t.SendStatus(protocol.AgentExecuting)
	outputs := make([]string, len(code))
	for i, source := range code {
		t.sendBlockEvent("ai_exec", source, i+1)
		execute := t.executeBlock
		if t.callsAI(source) {
			execute = t.executeBlockWithAI
		}
		response, err := execute(ctx, source)
		if ctx.Err() != nil {
			return "", true
		}
		output := blockOutput(response, err)
		t.sendBlockEvent("ai_exec_result", output, i+1)
		if responseEndsTurn(response) {
			return "", true
		}
		outputs[i] = fmt.Sprintf(outputHeading, i+1) + output
	}
	return render.Clip(strings.Join(outputs, "\n"), maxFeedbackBytes), false
}

// executeBlock runs one code block in the kernel, concurrently with the code of other labels,
// and returns the kernel's response. It returns an error if the code could not be run or
// took longer than the cell limit; an exception in the code is no error.
func (t *queryAnswerer) executeBlock(ctx context.Context, code string) (protocol.ExecuteCodeResponse, error) {
	timeout := t.Notebook.CellTimeout()
	return t.Notebook.ExecuteCode(ctx, map[string]any{"code": code, "session": t.Label, "timeout_s": timeout.Seconds()}, timeout)
}

// blockOutput returns the output of a code block as text for the model, clipped to
// render.MaxTextBytes: stdout, stderr, and the value or the exception; the text of err
// instead if err is not nil.
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

// responseEndsTurn reports whether the response to a code block ends the work on the query: the code
// was interrupted, or raised SystemExit, KeyboardInterrupt or CancelledError.
func responseEndsTurn(response protocol.ExecuteCodeResponse) bool {
	switch response.EName {
	case "SystemExit", "KeyboardInterrupt", "CancelledError":
		return true
	}
	return response.Status == protocol.StatusInterrupted
}
