package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"

	"assay/testcases/lint"
)

// Protocols of --agent 'PROTOCOL: COMMAND'. mcp alone is an agent that is controlled by MCP clients that
// connect by themselves.
const (
	agentFlagMCP = "mcp"
	agentFlagACP = "acp"
)

// Examples of a command in errors about --agent.
const (
	exampleMCP = "'mcp: claude -p --mcp-config .mcp.json'"
	exampleACP = "'acp: gemini --acp'"
)

// agentProtocol returns the protocol that --agent names, "" for any other agent, and the command line
// behind it.
func (f *kernelAndAgentFlags) agentProtocol() (name, line string) {
	for _, name := range []string{agentFlagMCP, agentFlagACP} {
		if f.agent == name {
			return name, ""
		}
		if line, ok := strings.CutPrefix(f.agent, name+":"); ok {
			return name, line
		}
	}
	return "", ""
}

// parseProtocolAgent sets agentCommand to the parsed command line of --agent 'PROTOCOL: COMMAND', or
// leaves it empty for --agent mcp, which has none. It fails if line cannot be parsed or if its program
// does not exist.
func (h *kernelAndAgentHost) parseProtocolAgent(name, line string) (err error) {
	line = strings.TrimSpace(line)
	switch {
	case h.flags.agent == agentFlagMCP:
		return nil
	case line == "" && name == agentFlagMCP:
		return fmt.Errorf("--agent mcp: want a command, such as %s, or mcp alone", exampleMCP)
	case line == "":
		return fmt.Errorf("--agent acp: want a command, such as %s", exampleACP)
	}
	h.agentCommand, err = parseCommandLine("--agent "+name+":", line, "")
	return err
}

// checkAgent rejects an invalid --agent that speaks neither MCP nor ACP.
func (h *kernelAndAgentHost) checkAgent() (err error) {
	switch h.flags.agent {
	case "oracle", "noop", agentFlagHuman:
		return nil
	case "builtin":
		return h.checkBuiltinAgent(&h.flags.builtin)
	}
	if h.agentCommand, err = parseCommandLine("--agent", h.flags.agent, "builtin, oracle, noop, human, mcp, 'mcp: COMMAND', 'acp: COMMAND'"); err != nil {
		err = cmp.Or(protocolError(h.flags.agent), err)
	}
	return err
}

// protocolError returns an error about an --agent that is no command, and begins with a protocol that is misspelt
// or lacks its colon; otherwise nil.
func protocolError(line string) error {
	first, _, _ := strings.Cut(line, " ")
	name, rest, hasColon := strings.Cut(first, ":")
	switch {
	case hasColon && rest == "" && name != "":
		near := lint.NearestWord(name, []string{agentFlagMCP, agentFlagACP})
		if near == "" {
			return fmt.Errorf("--agent: unknown protocol %s: want 'mcp: COMMAND' or 'acp: COMMAND'", name)
		}
		return fmt.Errorf("--agent: unknown protocol %s: did you mean %s:?", name, near)
	case first != line && (first == agentFlagMCP || first == agentFlagACP):
		return fmt.Errorf("--agent %q: did you mean '%s:%s'?", line, first, strings.TrimPrefix(line, first))
	default:
		return nil
	}
}

// hasForeignAgent reports whether the agent is a program that does not come with Assay, and is started
// by it.
func (f *kernelAndAgentFlags) hasForeignAgent() bool {
	return !slices.Contains([]string{"builtin", "oracle", "noop", agentFlagHuman, agentFlagMCP}, f.agent)
}

// checkModelCalls rejects --record and --model for agents whose calls of models do not go through this process, and
// settings of a model that is not given.
func (f *kernelAndAgentFlags) checkModelCalls() error {
	if f.agent == "builtin" {
		return nil
	}
	why := f.whyCallsAreNotSeen()
	if why != "" {
		for _, name := range []string{"record", "model"} {
			if isOnCommandLine(f.builtin.flags, name) {
				return fmt.Errorf("--%s: %s", name, why)
			}
		}
		f.builtin.record, f.builtin.model = "", "" // from the environment
	}
	switch {
	case why != "" && !isOnCommandLine(f.builtin.flags, "model-arg"):
		return nil
	case len(f.builtin.modelArgs) > 0 && f.builtin.model == "":
		return fmt.Errorf("--model-arg %s: there is no --model, whose setting it is", f.builtin.modelArgs[0])
	default:
		return f.builtin.checkRecordFlag()
	}
}

// whyCallsAreNotSeen returns why the calls of models of an agent other than the built-in one do not go through this
// process; "" if they do.
func (f *kernelAndAgentFlags) whyCallsAreNotSeen() string {
	switch {
	case f.agent == "oracle" || f.agent == "noop":
		return "the agent " + f.agent + " calls no model"
	case f.agent == agentFlagHuman:
		return "a person calls no model"
	case f.agent == agentFlagMCP:
		return "the calls of an external MCP client do not go through Assay"
	case f.gateway.mode == "off":
		return "with --gateway off it is only for the built-in agent"
	default:
		return ""
	}
}

// builtinOnlyFlags returns the names of the flags that only the built-in agent uses.
func builtinOnlyFlags() []string {
	return []string{"strategy", "name", "system", "memory-dir", "skills-dir", "state-dir", "max-eval-iters"}
}

// checkBuiltinOnlyFlags rejects flags of the built-in agent that were given for another one.
func (f *kernelAndAgentFlags) checkBuiltinOnlyFlags() error {
	if f.agent == "builtin" {
		return nil
	}
	for _, name := range builtinOnlyFlags() {
		if isOnCommandLine(f.builtin.flags, name) {
			return fmt.Errorf("--%s is for the built-in agent, not for --agent %q", name, f.agent)
		}
	}
	return nil
}

// parseCommandLine splits a command line as a shell does. It makes the paths of the program
// and of existing files absolute, and fails if the program or the script of an interpreter does not exist. Errors name
// the flag, and keywords, the other values that it takes; "" means none.
func parseCommandLine(flag, line, keywords string) ([]string, error) {
	words, err := shellwords.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", flag, line, err)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%s is empty", flag)
	}
	path, err := lookPath(words[0])
	if err != nil && keywords != "" {
		err = fmt.Errorf("want %s, or a command: %w", keywords, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", flag, line, err)
	}
	words[0] = path
	if script := missingScript(words); script != "" {
		here, _ := filepath.Abs(".") // without it the path says enough
		return nil, fmt.Errorf("%s: %s does not exist in %s", strings.TrimSuffix(flag, ":"), script, here)
	}
	for i, word := range words[1:] {
		// The child works in its sandbox: it would not find a file with a relative path,
		// as in 'python3 my_agent.py'.
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			if words[i+1], err = filepath.Abs(word); err != nil {
				return nil, err
			}
		}
	}
	return words, nil
}

// missingScript returns the word behind an interpreter that looks like the path of a script and does not exist; "" if
// there is none. Behind an option, which may need a value, words are not looked at.
func missingScript(words []string) string {
	if len(words) < 2 || !isInterpreter(words[0]) {
		return ""
	}
	script := words[1]
	isPath := strings.Contains(script, "/") || slices.Contains(scriptExtensions(), filepath.Ext(script))
	if !isPath || strings.HasPrefix(script, "-") || strings.Contains(script, "://") {
		return ""
	}
	for _, suffix := range []string{"", ".js", ".json", ".node"} { // which Node adds
		if _, err := os.Stat(script + suffix); !errors.Is(err, os.ErrNotExist) {
			return ""
		}
	}
	if _, err := lookPath(script); err == nil { // shells look there, too
		return ""
	}
	return script
}

// isInterpreter reports whether the first argument of a program is a script, unless it is an option.
func isInterpreter(program string) bool {
	return isPython(program) || slices.Contains([]string{"node", "sh", "bash", "dash", "zsh", "perl", "ruby", "Rscript", "julia"}, filepath.Base(program))
}

func scriptExtensions() []string {
	return []string{".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".pl", ".rb", ".R", ".r", ".jl"}
}
