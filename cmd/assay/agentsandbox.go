package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"assay/internal/sandbox"
	"assay/kernel"
)

// agentSandboxFlags are the flags that say what a foreign agent may do outside of its working folder.
type agentSandboxFlags struct {
	isOn       optionalBoolFlag
	isDefault  bool   // without --sandbox-agent a foreign agent is confined
	network    string // on, loopback or off; "" means off if models are reached through the gateway, else on
	readPaths  []string
	writePaths []string
	home       string // folder whose content HOME has at the start; "" means an empty HOME
}

func (f *agentSandboxFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.isOn, "sandbox-agent", "confine a foreign agent to its working folder and its program's")
	flags.Lookup("sandbox-agent").NoOptDefVal = "true"
	flags.Var(choiceFlag{&f.network, []string{"on", "loopback", "off"}}, "agent-network", "network of a confined agent: `on|loopback|off` (default off, which leaves it its models; with --gateway off: on)")
	flags.StringArrayVar(&f.readPaths, "agent-read", nil, "`path` that a confined agent may read too (repeatable)")
	flags.StringArrayVar(&f.writePaths, "agent-write", nil, "`path` that a confined agent may read and write too (repeatable)")
	flags.StringVar(&f.home, "agent-home", "", "`folder` that is copied to the private HOME of a confined agent, such as one with its settings")
}

// confineByDefault makes the sandbox of a foreign agent the default.
func (f *agentSandboxFlags) confineByDefault(flags *pflag.FlagSet) {
	f.isDefault, flags.Lookup("sandbox-agent").DefValue = true, "true"
}

// check rejects invalid flags. isForeign says that the agent does not come with Assay, isSandboxOn
// that kernels are confined.
func (f *agentSandboxFlags) check(isForeign, isSandboxOn bool) error {
	isConfined := f.isOn.or(f.isDefault && isForeign && isSandboxOn)
	switch {
	case f.isOn.or(false) && !isSandboxOn:
		return errors.New("--sandbox-agent confines by the same means as --sandbox, which is off")
	case f.isOn.or(false) && !isForeign:
		return errors.New("--sandbox-agent is for a foreign agent: the built-in ones run no code")
	case !isConfined && (len(f.readPaths) > 0 || len(f.writePaths) > 0 || f.home != "" || f.network != ""):
		return errors.New("--agent-network, --agent-read, --agent-write and --agent-home are for a confined agent: see --sandbox-agent")
	}
	for name, paths := range map[string][]string{"--agent-read": f.readPaths, "--agent-write": f.writePaths} {
		for _, path := range paths {
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if f.home == "" {
		return nil
	}
	info, err := os.Stat(f.home)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", f.home)
	}
	if err != nil {
		return fmt.Errorf("--agent-home: %w", err)
	}
	return nil
}

// confinesAgent reports whether the agent runs in a sandbox.
func (f *kernelAndAgentFlags) confinesAgent() bool {
	return f.sandbox.isOn && f.agentSandbox.isOn.or(f.agentSandbox.isDefault && f.hasForeignAgent())
}

// agentSandboxRules returns the rules of a confined agent. It may read the folders of its program.
func (h *kernelAndAgentHost) agentSandboxRules() sandbox.Rules {
	f := h.flags.agentSandbox
	rules := h.flags.sandbox.newRules(f.readPaths)
	rules.Network, rules.WritePaths = h.agentNetwork(), absolutePaths(f.writePaths)
	rules.ReadPaths = slices.Concat(rules.ReadPaths, commandReadPaths(h.agentCommand), h.agentReadPaths)
	if name, _ := h.flags.agentProtocol(); name != "" { // the agent is this program, and an MCP client connects to its Unix socket
		rules.ReadPaths, rules.AllowUnixSockets = append(rules.ReadPaths, h.p.self), true
	}
	return rules
}

// agentNetwork returns the network of a confined agent.
func (h *kernelAndAgentHost) agentNetwork() sandbox.Network {
	switch network := sandbox.Network(h.flags.agentSandbox.network); {
	case network != "":
		return network
	case h.gateway != nil:
		return sandbox.NetworkOff
	default:
		return sandbox.NetworkOn
	}
}

// recordedAgentNetwork returns the network of the agent for run.json; "" for one that comes with Assay.
func (h *kernelAndAgentHost) recordedAgentNetwork() sandbox.Network {
	switch {
	case !h.flags.hasForeignAgent():
		return ""
	case !h.flags.confinesAgent():
		return sandbox.NetworkOn
	default:
		return h.agentNetwork()
	}
}

// resolveAgentProgram replaces a version manager's shim of Python in a confined agent's command by the interpreter,
// and adds the folders that the environment names for Python's libraries to what the agent may read. Nothing of the
// agent is executed, because that would not be in its sandbox: a shim is only called if it is what PATH finds.
func (h *kernelAndAgentHost) resolveAgentProgram(ctx context.Context) {
	if len(h.agentCommand) == 0 || !h.flags.confinesAgent() {
		return
	}
	name, isScript := pythonOf(h.agentCommand[0])
	if name == "" {
		return
	}
	h.agentReadPaths = h.pythonLibraryPaths()
	path, err := lookPath(name)
	if err != nil {
		return // the agent's own start will say what is wrong
	}
	if onPath, err := lookPath(filepath.Base(path)); err == nil && onPath == path && isShim(path) {
		if path, err = kernel.FindExecutable(ctx, path); err != nil {
			return // as above
		}
	}
	if !isScript {
		h.agentCommand = h.agentCommand[1:]
	}
	h.agentCommand = append([]string{path}, h.agentCommand...)
}

// pythonLibraryPaths returns the folders that the environment of this process, which agents get, names for
// Python's libraries, and that of packages installed with pip --user. Those of an interpreter are beside it.
func (h *kernelAndAgentHost) pythonLibraryPaths() (paths []string) {
	if list, isSet := h.p.getenv("PYTHONPATH"); isSet {
		paths = slices.DeleteFunc(filepath.SplitList(list), func(path string) bool { return !filepath.IsAbs(path) })
	}
	userBase, isSet := h.p.getenv("PYTHONUSERBASE")
	if home, hasHome := h.p.getenv("HOME"); !isSet && hasHome {
		userBase = filepath.Join(home, ".local")
	}
	if filepath.IsAbs(userBase) {
		paths = append(paths, filepath.Join(userBase, "lib"))
	}
	return paths
}

// isShim reports whether a program is a script.
func isShim(program string) bool {
	file, err := os.Open(program)
	if err != nil {
		return false
	}
	defer file.Close()
	begin := make([]byte, 2)
	_, err = io.ReadFull(file, begin)
	return err == nil && string(begin) == "#!"
}

// pythonOf returns the Python interpreter that runs a program: the program itself, or the one in the
// first line of a script. It returns "" if there is none.
func pythonOf(program string) (interpreter string, isScript bool) {
	if isPython(program) {
		return program, false
	}
	file, err := os.Open(program)
	if err != nil {
		return "", false
	}
	defer file.Close()
	line, _ := bufio.NewReader(file).ReadString('\n')
	line, isScript = strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !isScript || len(words) == 0 {
		return "", false
	}
	if filepath.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) != 1 || !isPython(words[0]) { // options of the interpreter would be lost
		return "", false
	}
	return words[0], true
}

// isPython reports whether a program is called as Python interpreters are: python, python3, python3.12.
func isPython(program string) bool {
	return strings.TrimRight(filepath.Base(program), "0123456789.") == "python"
}

// optionalBoolFlag is a flag that is true, false or not given.
type optionalBoolFlag struct{ value *bool }

// or returns the flag's value, or other if the flag was not given.
func (f *optionalBoolFlag) or(other bool) bool {
	if f.value == nil {
		return other
	}
	return *f.value
}

// String returns the value, or "" if the flag was not given.
func (f *optionalBoolFlag) String() string {
	if f.value == nil {
		return ""
	}
	return strconv.FormatBool(*f.value)
}

// Type returns the name of the kind of value.
func (f *optionalBoolFlag) Type() string { return "bool" }

// Set parses a value as other flags do.
func (f *optionalBoolFlag) Set(text string) error {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("want true or false")
	}
	f.value = &value
	return nil
}
