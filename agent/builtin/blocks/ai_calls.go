package blocks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"assay/agent/builtin"
	"assay/internal/protocol"
)

// maxConcurrentAICalls is how many ai() calls of one code block are worked on at a time; the
// others wait.
const maxConcurrentAICalls = 8

// aiCallPattern matches code that has the name ai.
var aiCallPattern = regexp.MustCompile(`\bai\b`)

// aiCall is what code in the kernel asks: a prompt, or that an earlier prompt be given up.
type aiCall struct {
	Number    int    `json:"number"` // of the prompt in its block, from 1
	Prompt    string `json:"prompt"`
	Cancelled bool   `json:"cancelled"` // nobody awaits the reply any more
}

// aiCallServer answers the ai() calls of one code block, each in a new conversation.
type aiCallServer struct {
	asker    *queryAnswerer                  // whose block it is
	sessions sync.WaitGroup                  // the conversations that are at work
	slots    chan struct{}                   // has a value for each of them that is not waiting; buffer of maxConcurrentAICalls
	cancels  map[int]context.CancelCauseFunc // by the number of the prompt; used by serve alone
}

// callsAI reports whether a code block can call ai(): its text has the name, or an earlier
// block's had, which may have defined a function that calls it. Only Assay's Python kernel has
// ai(), and a conversation that ai() has started cannot use it.
func (t *queryAnswerer) callsAI(code string) bool {
	if t.askedByCode || t.Language != "python" {
		return false
	}
	if aiCallPattern.MatchString(code) {
		t.strategy.mentionsAI.Store(true)
	}
	return t.strategy.mentionsAI.Load()
}

// executeBlockWithAI runs one code block, like executeBlock, and answers its ai() calls
// meanwhile. If the kernel has no ai(), the block is run without it, and the response's stderr
// begins with a line that says so.
func (t *queryAnswerer) executeBlockWithAI(ctx context.Context, code string) (protocol.ExecuteCodeResponse, error) {
	if _, err := t.callKernelModule(ctx, "open_prompts", "globals()"); err != nil {
		response, runErr := t.executeBlock(ctx, code)
		response.Stderr = fmt.Sprintf("ai() is not available: %v\n%s", err, response.Stderr)
		return response, runErr
	}
	server := &aiCallServer{asker: t, slots: make(chan struct{}, maxConcurrentAICalls), cancels: map[int]context.CancelCauseFunc{}}
	servingCtx, stopServing := context.WithCancelCause(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { server.serve(servingCtx) })
	response, err := t.executeBlock(ctx, code)
	if ctx.Err() == nil {
		if _, closeErr := t.callKernelModule(ctx, "close_prompts"); closeErr != nil {
			stopServing(closeErr) // the kernel does not end it
		}
	}
	serving.Wait()
	stopServing(nil)
	return response, err
}

// serve answers ai() calls until the kernel says that there will be no more, or ctx ends. Then
// it cancels the conversations that are still at work and waits for their end.
func (s *aiCallServer) serve(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer s.sessions.Wait()
	defer cancel(errors.New("the block that called ai() has ended"))
	for {
		result, err := s.asker.callKernelModule(ctx, "next_prompt")
		var call aiCall
		if err != nil || result == "" || json.Unmarshal([]byte(result), &call) != nil {
			return
		}
		giveUp, isKnown := s.cancels[call.Number]
		switch {
		case isKnown && call.Cancelled:
			giveUp(errors.New("the code no longer awaits the reply"))
		case !isKnown && !call.Cancelled:
			s.start(ctx, call)
		} // code may have forged any other
	}
}

// start begins the work on the prompt of an ai() call.
func (s *aiCallServer) start(ctx context.Context, call aiCall) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.cancels[call.Number] = cancel
	s.sessions.Go(func() {
		defer cancel(nil)
		s.answer(ctx, call)
	})
}

// answer works on the prompt of an ai() call, as soon as a slot is free, and sends the kernel
// the reply or an error. It sends nothing if ctx ends first.
func (s *aiCallServer) answer(ctx context.Context, call aiCall) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.slots }()
	text, err := s.asker.replyToPrompt(ctx, call.Prompt)
	if ctx.Err() != nil {
		return
	}
	arguments := []string{strconv.Itoa(call.Number), quoteForPython(text)}
	if err != nil {
		arguments = append(arguments, quoteForPython(err.Error()))
	}
	if _, err := s.asker.callKernelModule(ctx, "reply", arguments...); err != nil && ctx.Err() == nil {
		s.asker.SendError(fmt.Sprintf("the kernel did not take the reply to an ai() call: %v", err))
	}
}

// replyToPrompt works on a prompt in a new conversation with the same kernel, and returns its
// final reply. It fails as queryAnswerer.run does, or if a block ends the work.
func (t *queryAnswerer) replyToPrompt(ctx context.Context, prompt string) (string, error) {
	a := t.strategy.newAnswerer(t.NewSibling(t.strategy.labels.newSubLabel(t.Label)), prompt)
	a.askedByCode, a.crossLabelLog = true, &crossLabelLog{}
	_, err := a.run(ctx, strings.TrimSpace(prompt))
	if err == nil && a.finalReply == nil {
		err = errors.New("the conversation was ended by its own code")
	}
	if err != nil {
		return "", err
	}
	return builtin.ReplyText(a.finalReply), nil
}

// callKernelModule calls a function of the kernel's module assay.ai with the label of the
// conversation and arguments, which are Python expressions; a coroutine is awaited. Calls of
// different functions, and code blocks, do not wait for each other. It returns the value's
// repr, "" for None, or an error if the call fails.
func (t *queryAnswerer) callKernelModule(ctx context.Context, function string, arguments ...string) (string, error) {
	timeout := t.Notebook.CellTimeout()
	arguments = append([]string{quoteForPython(t.Label)}, arguments...)
	response, err := t.Notebook.ExecuteCode(ctx, map[string]any{
		"code":    `__import__("assay.ai", fromlist=["ai"]).` + function + "(" + strings.Join(arguments, ", ") + ")",
		"session": t.Label + "/" + function, "timeout_s": timeout.Seconds(),
	}, timeout)
	switch {
	case err != nil:
		return "", err
	case response.EName != "":
		return "", errors.New(response.EName + ": " + response.Error)
	case response.Result == nil:
		return "", nil
	}
	return *response.Result, nil
}

// quoteForPython returns text as a Python string literal, which a JSON string is.
func quoteForPython(text string) string {
	quoted, err := protocol.Marshal(text)
	if err != nil {
		panic(err) // every string can be written
	}
	return string(quoted)
}
