package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"assay/server"
)

// agentFlagHuman is the value of --agent for a person who does the agent's work at a console.
const agentFlagHuman = "human"

// personName returns the name of the person who does the agent's work: that of --person, or else of
// the user. It is empty for any other agent. It fails if there is no name, or a name and an agent.
func (f *kernelAndAgentFlags) personName(p *cli) (string, error) {
	name := strings.TrimSpace(f.person)
	if f.agent != agentFlagHuman {
		if name != "" {
			return "", errors.New("--person is for --agent human")
		}
		return "", nil
	}
	if name == "" {
		user, _ := p.getenv("USER")
		name = strings.TrimSpace(user)
	}
	if name == "" {
		return "", errors.New("--agent human: who is it? $USER is not set: give --person NAME")
	}
	return name, nil
}

// checkHuman rejects flags with which a person cannot work on the cases of assay serve.
func (f *serveFlags) checkHuman() error {
	switch {
	case f.host.agent != agentFlagHuman:
		return nil
	case len(f.cases) == 0:
		return errors.New("--agent human works on cases: name them with --case")
	case f.headless:
		return errors.New("--agent human works in a browser: leave out --headless")
	case f.consoleRole == server.RoleHolder:
		return errors.New("--agent human works in the server's notebook: leave out --console-role holder")
	default:
		return nil
	}
}

// checkHuman rejects flags with which a person cannot work on the cases of a run, and makes one attempt at
// a time the default.
func (f *runFlags) checkHuman(cmd *cobra.Command) error {
	switch {
	case f.host.agent != agentFlagHuman:
		return nil
	case f.ui.addr == "":
		return errors.New("--agent human works in a browser: give --ui")
	case !cmd.Flags().Changed("jobs"):
		f.jobs = 1
		return nil
	case f.jobs != 1:
		return errors.New("--agent human makes one attempt at a time: leave out -j, or give -j 1")
	default:
		return nil
	}
}
