package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"assay/agent/builtin/render"
	"assay/agent/command"
)

// exitGrace is how long a program whose standard output has ended may take to exit.
const exitGrace = 2 * time.Second

// program is a started command and the connection to it.
type program struct {
	cfg          Config
	conversation *conversation
	reportError  func(string) // sends the server an error that does not end the query

	process *command.Process
	conn    *rpcConn
	stdin   *os.File // our end of the pipe
	stdout  *os.File
	output  *outputReader  // of stdout
	serving sync.WaitGroup // the goroutines that read and write

	sessionID   string // "" before the first session
	hasPrompted bool   // the session has had a prompt
	isCancelled atomic.Bool
	garbage     firstLine
}

// firstLine is the first line that a program has printed and that was not JSON-RPC.
type firstLine struct {
	mu   sync.Mutex
	text string // "" if there was none
}

// startProgram starts the command and initialises the connection. After an error nothing runs.
func startProgram(ctx context.Context, cfg Config, conversation *conversation, reportError func(string)) (*program, error) {
	p := &program{cfg: cfg, conversation: conversation, reportError: reportError}
	p.conn = newRPCConn(p)
	if err := p.startProcess(); err != nil {
		return nil, err
	}
	p.serving.Go(func() { p.conn.readMessages(p.output) })
	p.serving.Go(func() { p.conn.writeMessages(p.stdin) })
	if err := p.initialize(ctx); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// startProcess starts the command with pipes as its standard streams.
func (p *program) startProcess() error {
	stdinReader, stdin, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	defer stdinReader.Close() // the program has its own
	stdout, stdoutWriter, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("start the program: %w", err), stdin.Close())
	}
	defer stdoutWriter.Close()
	p.stdin, p.stdout = stdin, stdout
	p.output, err = newOutputReader(stdout)
	if err == nil {
		p.process, err = command.Start(command.Config{
			Argv: p.cfg.Command, Dir: p.cfg.WorkDir, Env: append(append([]string{}, p.cfg.Environ...), "ASSAY_SOCKET="+p.cfg.Socket),
			Stdin: stdinReader, Stdout: stdoutWriter, Output: p.cfg.Stderr,
		})
	}
	if err != nil {
		return errors.Join(err, stdin.Close(), stdout.Close())
	}
	return nil
}

// stop stops the program and its process group, and waits until everything that it has sent is handled. It
// may be called again.
func (p *program) stop() {
	p.conn.end(errStreamEnded)
	_ = p.stdin.Close() // a program that reads its input sees the end
	p.process.Stop()
	_ = p.stdout.SetReadDeadline(time.Now().Add(command.OutputGrace)) // another process may hold the pipe
	p.serving.Wait()
	_ = p.stdout.Close()
}

// initialize agrees on the version of the protocol, and makes a session.
func (p *program) initialize(ctx context.Context) error {
	var response initializeResponse
	err := p.call(ctx, methodInitialize, initializeRequest{
		ProtocolVersion: protocolVersion, ClientInfo: implementation{Name: "assay", Title: "Assay", Version: p.cfg.Version},
	}, &response)
	if err != nil {
		return err
	}
	if response.ProtocolVersion != protocolVersion {
		return fmt.Errorf("%s speaks version %d of the Agent Client Protocol, Assay version %d", p.process.Name(), response.ProtocolVersion, protocolVersion)
	}
	err = p.newSession(ctx)
	if failure, isAnswer := errors.AsType[*jsonrpc.Error](err); isAnswer && failure.Code == codeAuthRequired {
		if err := p.authenticate(ctx, response.AuthMethods); err != nil {
			return err
		}
		err = p.newSession(ctx)
	}
	return err
}

// newSession makes a session without history, which has the notebook's tools.
func (p *program) newSession(ctx context.Context) error {
	dir, err := filepath.Abs(p.cfg.WorkDir)
	if err != nil {
		return fmt.Errorf("the folder of the program: %w", err)
	}
	var response newSessionResponse
	err = p.call(ctx, methodNewSession, newSessionRequest{CWD: dir, MCPServers: []mcpServer{{
		Name: "assay", Command: p.cfg.Program, Args: []string{"mcp", "--attach"},
		// The path is not an argument, because other users and processes can see those.
		Env: []envVariable{{Name: "ASSAY_SOCKET", Value: p.cfg.Socket}},
	}}}, &response)
	if err == nil && response.SessionID == "" {
		err = fmt.Errorf("%s answered %s without a session id", p.process.Name(), methodNewSession)
	}
	p.sessionID, p.hasPrompted = response.SessionID, false
	return err
}

// prompt sends a prompt to the session. The channel gets the response when the turn has ended.
func (p *program) prompt(text string) <-chan rpcResponse {
	p.hasPrompted = true
	p.isCancelled.Store(false)
	return p.conn.request(methodPrompt, promptRequest{SessionID: p.sessionID, Prompt: []contentBlock{{Type: "text", Text: text}}})
}

// cancel asks the program to end its turn. From now on it gets no permissions.
func (p *program) cancel() {
	p.isCancelled.Store(true)
	p.conn.notify(methodCancel, cancelNotification{SessionID: p.sessionID})
}

// call sends a request and decodes its response. The error wraps a [*jsonrpc.Error] if that is the
// answer; otherwise it is that of endError, the cause of ctx, or says that there was no answer in time.
func (p *program) call(ctx context.Context, method string, params, result any) error {
	timer := time.NewTimer(p.cfg.StartTimeout)
	defer timer.Stop()
	select {
	case response := <-p.conn.request(method, params):
		if response.err != nil {
			return p.responseError(method, response.err)
		}
		if err := decode(response.result, result); err != nil {
			return fmt.Errorf("%s answered %s with what is no JSON object: %w", p.process.Name(), method, err)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("%s did not answer %s within %v%s", p.process.Name(), method, p.cfg.StartTimeout, p.garbage.note())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// responseError returns the error of a request: the program's answer, or that of endError.
func (p *program) responseError(method string, err error) error {
	if answer, isAnswer := errors.AsType[*jsonrpc.Error](err); isAnswer {
		text := render.ClipToOneLine(answer.Message, maxLabelBytes)
		if isSet(answer.Data) {
			text += " " + render.ClipToOneLine(string(answer.Data), maxLabelBytes)
		}
		return &answerError{fmt.Sprintf("%s answered %s with error %d: %s", p.process.Name(), method, answer.Code, text), answer}
	}
	return p.endError(err)
}

// answerError is an error that a program has answered.
type answerError struct {
	text   string
	answer *jsonrpc.Error
}

// Error says what was asked and answered.
func (e *answerError) Error() string { return e.text }

// Unwrap returns the answer.
func (e *answerError) Unwrap() error { return e.answer }

// endError stops the program and says why the connection has ended with err: with a [*command.Error] if
// the program has exited.
func (p *program) endError(err error) error {
	defer p.stop()
	if !errors.Is(err, errStreamEnded) {
		return fmt.Errorf("%s: %w", p.process.Name(), err)
	}
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-p.process.Exited():
		p.stop() // what it printed last is read
		return &command.Error{Text: p.process.ExitText()}
	case <-timer.C:
		return fmt.Errorf("%s has closed its standard input or output", p.process.Name())
	}
}

// handleGarbage passes on a line that is not JSON-RPC as output. The first one is reported.
func (p *program) handleGarbage(line []byte) {
	text := render.ClipToOneLine(string(line), maxLabelBytes)
	p.process.WriteLine([]byte(text))
	if p.garbage.set(text) {
		p.reportError(fmt.Sprintf("%s has printed a line on its standard output that is not JSON-RPC: %s", p.process.Name(), text))
	}
}

// handleNotification handles a notification. All but session/update are ignored.
func (p *program) handleNotification(method string, params json.RawMessage) {
	if method == methodUpdate {
		p.conversation.addUpdate(params)
		return
	}
	p.cfg.Log.Debug("a notification of the program was ignored", "method", method)
}

// handleRequest answers a request for permission. No other request is supported.
func (p *program) handleRequest(method string, params json.RawMessage) (any, *jsonrpc.Error) {
	if method != methodRequestPermission {
		p.cfg.Log.Debug("a request of the program is not supported", "method", method)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + render.Clip(method, maxLabelBytes)}
	}
	var request permissionRequest
	if err := decode(params, &request); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	outcome := choosePermission(request.Options)
	if p.isCancelled.Load() {
		outcome = permissionOutcome{Outcome: "cancelled"}
	}
	p.cfg.Log.Info("the program has asked for permission", "for", render.ClipToOneLine(request.ToolCall.Title, maxLabelBytes), "answer", outcome)
	return permissionResponse{outcome}, nil
}

// choosePermission allows what is asked, once if possible: the sandbox confines the program. If nothing can
// be allowed, it takes the first option.
func choosePermission(options []permissionOption) permissionOutcome {
	for _, kind := range []string{"allow_once", "allow_always"} {
		for _, option := range options {
			if option.Kind == kind {
				return permissionOutcome{Outcome: "selected", OptionID: option.OptionID}
			}
		}
	}
	if len(options) == 0 {
		return permissionOutcome{Outcome: "cancelled"}
	}
	return permissionOutcome{Outcome: "selected", OptionID: options[0].OptionID}
}

// set sets the line, and reports true, unless there is one already.
func (f *firstLine) set(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text != "" {
		return false
	}
	f.text = text
	return true
}

// note returns the line for an error, or "".
func (f *firstLine) note() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text == "" {
		return ""
	}
	return "; the first line that it printed is not JSON-RPC: " + f.text
}
