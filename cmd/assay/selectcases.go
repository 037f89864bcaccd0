package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/testcases"
	"assay/testcases/lint"
)

// loadCases loads and selects the cases, and rejects a run that could not be graded.
func (f *runFlags) loadCases(p *cli, paths []string) ([]testcases.Case, error) {
	switch {
	case f.jobs < 1 || f.epochs < 1 || f.selection.MaxCases < 0:
		return nil, errors.New("-j and --epochs are at least 1, --first at least 0")
	case f.host.agent == agentFlagMCP:
		return nil, errors.New("--agent mcp waits for a client to connect, and no client connects to a run: want --agent 'mcp: COMMAND', or assay serve --agent mcp")
	}
	dataFolders, err := f.host.dataFolders()
	if err != nil {
		return nil, err
	}
	if err := f.ui.check(p); err != nil {
		return nil, err
	}
	cases, err := testcases.Load(paths, testcases.Options{Data: dataFolders})
	if err != nil {
		return nil, err
	}
	f.host.sandbox.withhold(cases) // those that are not selected, too
	all := cases
	cases, err = testcases.Select(cases, f.selection)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, f.noCaseError(all)
	}
	return cases, testcases.CheckRunnable(cases)
}

// noCaseError returns the error of a selection that selects none of these cases.
func (f *runFlags) noCaseError(cases []testcases.Case) error {
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	var given []string
	if f.selection.ID != "" {
		given = append(given, "--id "+f.selection.ID)
	}
	for _, tag := range f.selection.Tags {
		given = append(given, "--tag "+tag)
	}
	for _, key := range slices.Sorted(maps.Keys(f.selection.Meta)) {
		given = append(given, "--meta "+key+"="+f.selection.Meta[key])
	}
	text := fmt.Sprintf("none of %s matches %s", formatCount(len(cases), "case"), strings.Join(given, " "))
	if near := lint.NearestWord(f.selection.ID, ids); near != "" && !slices.Contains(ids, f.selection.ID) {
		text += ": did you mean --id " + near + "?"
	}
	return errors.New(text)
}
