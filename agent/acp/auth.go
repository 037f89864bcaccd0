package acp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/agent/builtin/render"
)

// environmentVariable matches the name of an environment variable in a text, such as GEMINI_API_KEY.
var environmentVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// authenticate authenticates with the first method that needs nobody: one that names environment
// variables, all of which are set. If there is none, the error names the methods.
func (p *program) authenticate(ctx context.Context, methods []authMethod) error {
	for _, m := range methods {
		if m.Type != "terminal" && isSetUp(m, p.cfg.Environ) {
			return p.call(ctx, methodAuthenticate, authenticateRequest{MethodID: m.ID}, &struct{}{})
		}
	}
	if len(methods) == 0 {
		return errors.New(p.process.Name() + " wants authentication, and offers no way to authenticate")
	}
	var offered []string
	for _, m := range methods {
		text := m.Name
		if m.Description != "" {
			text += " (" + m.Description + ")"
		}
		offered = append(offered, render.ClipToOneLine(text, maxLabelBytes))
	}
	return fmt.Errorf("%s wants authentication: %s; set the variables of one of them, or log in beforehand and copy the settings to its HOME (--agent-home)",
		p.process.Name(), strings.Join(offered, ", "))
}

// isSetUp reports whether a method names environment variables, and all of them are set.
func isSetUp(m authMethod, environ []string) bool {
	names := environmentVariable.FindAllString(m.Name+" "+m.Description, -1)
	for _, v := range m.Vars {
		names = append(names, v.Name)
	}
	for _, name := range names {
		if !slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") && entry != name+"=" }) {
			return false
		}
	}
	return len(names) > 0
}
