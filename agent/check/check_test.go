package check_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"assay/agent"
	"assay/agent/check"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// newSupervisor returns a supervisor that is closed when the test ends.
func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

// faultyAgentConfig returns the configuration of a check of testdata/faulty_agent.py with a fault. root is for
// working folders.
func faultyAgentConfig(sup *subprocess.Supervisor, root, fault string) check.Config {
	program, _ := filepath.Abs(filepath.Join("testdata", "faulty_agent.py")) // fails without a current folder only
	return check.Config{
		Supervisor: sup, WorkdirRoot: root,
		Agent:        agent.Config{Command: []string{"python3", program, fault}, Environ: os.Environ(), ReadyTimeout: 15 * time.Second},
		QueryTimeout: 15 * time.Second, AnswerTimeout: 10 * time.Second,
	}
}

// checkResult is what a check has returned.
type checkResult struct {
	findings []check.Finding
	summary  check.Summary
	err      error
}

// runCheck makes a check.
func runCheck(ctx context.Context, cfg check.Config) (r checkResult) {
	r.summary, r.err = check.Run(ctx, cfg, func(f check.Finding) { r.findings = append(r.findings, f) })
	return r
}

// expected is the status of a finding, a space, and a text in its detail.
type expected map[string]string

// faults returns what a check finds about an agent with a fault: the findings that are neither passes nor
// consequences of a failed handshake or query.
func faults() map[string]expected {
	return map[string]expected{
		"none":           {},
		"prints":         {},
		"gzip":           {},
		"executes-first": {},

		"json-lines":        {"handshake": "fail agent: channel broken on read: it seems to write lines of JSON: frames begin with an 8-byte little-endian length (docs/protocol.md#framing)"},
		"big-endian":        {"handshake": "fail its lengths seem to be big-endian"},
		"counts-header":     {"handshake": "fail agent did not say ready within 15s: it has sent 17 of 25 bytes of a frame: connection closed (all of its JSON has come: the length seems to be 8 too large"},
		"newline":           {"handshake": "fail no agent_status ready after init within 15s; it has sent 45 of 11018 bytes of a frame: connection closed (a newline seems to follow the frame before"},
		"silent":            {"handshake": "fail agent did not say ready within 15s"},
		"status-first":      {"handshake": `fail agent said "agent_status" before ready`},
		"status-at-start":   {"handshake": "warn it said agent_status ready before init came", "large-numbers": "fail agent exited with status 1: struct.error"},
		"never-ready":       {"handshake": "fail no agent_status ready after init within 15s; its last message was ready"},
		"crashes-at-init":   {"handshake": "fail agent exited with status 1: ValueError: bad limits; it printed last: Traceback"},
		"gzip-deaf":         {"handshake": "fail agent exited with status 1: UnicodeDecodeError"},
		"silent-at-query":   {"query": "fail its turn has not ended within 15s; its last message was agent_status ready"},
		"takes-no-answer":   {"query": `fail its turn has not ended within 15s; its last message was get_context (tx_id "tx_1")`},
		"crashes-at-query":  {"query": "fail agent exited with status 1: RuntimeError: no such model"},
		"counts-characters": {"query": "fail its turn has not ended within 15s; it has sent 43 of 10877 bytes of a frame: connection closed (the length of the frame before seems too small: it counts bytes of UTF-8, not characters"},

		"reads-once":                {"init-in-pieces": "fail agent exited with status 1: ", "long-text": "fail JSONDecodeError", "big-messages": "fail JSONDecodeError"},
		"needs-small-numbers":       {"large-numbers": "fail agent exited with status 1: struct.error"},
		"malformed":                 {"messages": "fail malformed message: "},
		"unknown-type":              {"messages": `warn there is no message of type "agent_thought": the server drops it`},
		"numeric-tx-id":             {"tx-id": "fail get_context: its tx_id was 1, which is no text, so a server sends no answer"},
		"same-tx-id":                {"tx-id": "fail create_cell: the tx_id tx was used before", "second-answers": "warn its turn has not ended"},
		"refuses-fields":            {"extra-fields": "fail TypeError: unexpected fields in ", "big-messages": "fail TypeError: unexpected fields in "},
		"refuses-types":             {"extra-messages": "fail ValueError: unknown type x_extra"},
		"ascii":                     {"long-text": "fail UnicodeDecodeError"},
		"patient":                   {"no-answer": "warn get_context was not answered, and the agent was silent for 10s"},
		"ignores-status":            {"error-answers": "fail its turn has not ended within 15s"},
		"takes-any-answer":          {"stray-answers": "fail ended with a fatal error: this answers an action", "second-answers": "warn its turn has not ended within 15s"},
		"crashes-at-unknown-answer": {"late-answer": "fail KeyError: 'tx_1'", "stray-answers": "fail KeyError: 'tx_", "second-answers": "warn KeyError: 'tx_", "cancel": "fail KeyError: 'tx_1'"},
		"takes-any-cell":            {"other-cell": "fail it has submitted what another cell printed"},
		"ignores-lost-runs":         {"kernel-death": "fail its turn has not ended within 15s"},
		"drops-queries":             {"two-queries": "warn only one of two queries was answered"},
		"ignores-cancel":            {"cancel": "warn it worked on after agent_cancel"},
		"cancels-any-query":         {"stray-cancel": "fail it ended and submitted nothing"},
		"crashes-at-cancel":         {"cancel": "fail NotImplementedError: agent_cancel", "stray-cancel": "fail NotImplementedError: agent_cancel"},
		"crashes-at-clear":          {"clear-history": "fail NotImplementedError: agent_clear_history"},
		"crashes-at-early-query":    {"early-query": "warn RuntimeError: there is no session"},
		"one-query":                 {"two-queries": "warn it exits after its first query", "cancel": "warn it exits after", "clear-history": "warn it exits after", "early-query": "warn it exits after"},
		"stays":                     {"close": "fail it still ran 2s later", "close-at-work": "fail it still ran 2s later"},
		"ignores-sigterm":           {"sigterm": "warn it still ran 2s later"},
	}
}

// checksAtOnce is how many checks run at once: most of the time each waits.
const checksAtOnce = 6

// An agent with one fault passes all situations but those that the fault is about. In short tests most faults are
// only looked for where they are.
func TestFaultyAgents(t *testing.T) {
	t.Parallel()
	sup, root := newSupervisor(t), t.TempDir()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(checksAtOnce)
	results := map[string]checkResult{}
	for fault, want := range faults() {
		group.Go(func() error {
			cfg := faultyAgentConfig(sup, root, fault)
			if testing.Short() && len(want) > 0 {
				cfg.Only = append(slices.Collect(maps.Keys(want)), "handshake", "query")
			}
			result := runCheck(t.Context(), cfg)
			mu.Lock()
			defer mu.Unlock()
			results[fault] = result
			return nil
		})
	}
	require.NoError(t, group.Wait())
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, left, "working folders")
	requireOrderAndSections(t, results["none"].findings)
	for fault, want := range faults() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			requireFindings(t, want, results[fault])
		})
	}
}

// requireOrderAndSections requires that findings are in the order of the situations, and that each names a section
// of the protocol's description.
func requireOrderAndSections(t *testing.T, findings []check.Finding) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	require.NoError(t, err)
	var names []string
	for _, f := range findings {
		names = append(names, f.Name)
		require.Contains(t, string(text), "\n## "+f.Section, f.Name)
	}
	require.Equal(t, check.Names(), names)
}

// requireFindings requires that a check has found what is wanted and nothing else.
func requireFindings(t *testing.T, want expected, got checkResult) {
	t.Helper()
	require.NoError(t, got.err)
	counts := map[string]int{}
	for _, f := range got.findings {
		counts[f.Status]++
		status, detail, _ := strings.Cut(want[f.Name], " ")
		switch {
		case want[f.Name] != "":
			require.Equal(t, status, f.Status, f)
			require.Contains(t, f.Detail, detail)
			require.NotEmpty(t, f.Remedy)
			require.Equal(t, strings.Contains(f.Detail, "of a frame") || strings.Contains(f.Detail, "frame length"), f.Remedy == "send a length that is right in front of each message, and nothing else", f)
		default:
			require.Equal(t, check.StatusPass, f.Status, f)
			require.Empty(t, f.Remedy)
		}
	}
	summary := got.summary
	require.Equal(t, [4]int{counts["pass"], counts["warn"], counts["fail"]}, [4]int{summary.Passed, summary.Warnings, summary.Failed, summary.Skipped})
	switch {
	case strings.HasPrefix(want["handshake"], "fail"):
		require.Len(t, got.findings, 1, "nothing else is tried")
	case want["query"] != "":
		require.Less(t, len(got.findings), 10, "what needs an answered query is not tried")
	default:
		require.Zero(t, summary.NotTried)
	}
}

// A turn can end in several ways. An agent_status ready that comes early is not the end of one.
func TestEndsOfTurns(t *testing.T) {
	t.Parallel()
	sup, root := newSupervisor(t), t.TempDir()
	for way, want := range map[string]string{
		"ends-by-result":  "submitted after 2 actions",
		"ends-by-action":  "submitted after 3 actions",
		"ends-by-stream":  "submitted after 2 actions",
		"ends-by-message": "ended with a message and submitted nothing, after 2 actions",
		"ready-twice":     "submitted after 2 actions",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			cfg := faultyAgentConfig(sup, root, way)
			cfg.Only = []string{"query", "messages", "tx-id", "two-queries"}
			got := runCheck(t.Context(), cfg)
			wanted := expected{}
			if way == "ends-by-message" {
				wanted["query"] = "warn ended with a message and submitted nothing, after 2 actions: an evaluation would have no answer"
			}
			requireFindings(t, wanted, got)
			require.Len(t, got.findings, len(cfg.Only))
			require.Contains(t, got.findings[0].Detail, want)
		})
	}
}

// An agent whose first action is execute_code may wait for as long as it has asked for: no answer is withheld from it.
func TestAgentThatOnlyExecutesCode(t *testing.T) {
	t.Parallel()
	cfg := faultyAgentConfig(newSupervisor(t), t.TempDir(), "executes-code")
	cfg.Only = []string{"no-answer", "late-answer"}
	got := runCheck(t.Context(), cfg)
	require.NoError(t, got.err)
	require.Equal(t, 2, got.summary.Skipped)
	for _, f := range got.findings {
		require.Equal(t, check.StatusSkip, f.Status, f)
		require.Equal(t, "the agent sent no action that it must give up after 10 s", f.Detail)
	}
}

// Situations that others need are tried although only others are asked for. If they fail, that is reported.
func TestOnlyTriesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	sup, root := newSupervisor(t), t.TempDir()
	only := func(fault string) checkResult {
		cfg := faultyAgentConfig(sup, root, fault)
		cfg.Only = []string{"stray-answers"}
		return runCheck(t.Context(), cfg)
	}
	got := only("takes-any-answer")
	require.Len(t, got.findings, 1)
	require.Equal(t, "stray-answers", got.findings[0].Name)
	require.Equal(t, check.StatusFail, got.findings[0].Status)
	got = only("crashes-at-query")
	require.Len(t, got.findings, 1)
	require.Equal(t, "query", got.findings[0].Name)
	require.Equal(t, [2]int{1, 1}, [2]int{got.summary.Failed, got.summary.NotTried})
}

// An agent that gives up too early fails where answers are slow.
func TestImpatientAgent(t *testing.T) {
	t.Parallel()
	cfg := faultyAgentConfig(newSupervisor(t), t.TempDir(), "impatient")
	cfg.Only = []string{"slow-answers"}
	got := runCheck(t.Context(), cfg)
	require.Len(t, got.findings, 1)
	require.Equal(t, check.StatusFail, got.findings[0].Status)
	require.Contains(t, got.findings[0].Detail, "get_context: no answer within 0.5 s")
}

// A check ends with its context. What was in progress then, or not tried yet, has no finding.
func TestRunEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	var findings []check.Finding
	summary, err := check.Run(ctx, faultyAgentConfig(newSupervisor(t), t.TempDir(), "patient"), func(f check.Finding) {
		if findings = append(findings, f); len(findings) == 3 {
			cancel(interrupted)
		}
	})
	require.ErrorIs(t, err, interrupted)
	for _, f := range findings {
		require.Equal(t, check.StatusPass, f.Status, f)
	}
	require.Equal(t, len(findings), summary.Passed)
	require.Equal(t, len(check.Names())-len(findings), summary.NotTried)
	require.Positive(t, summary.NotTried, "the patient agent waits for an answer")
}

func TestSummaryText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "18 passed, 1 warning, 1 failed", check.Summary{Passed: 18, Warnings: 1, Failed: 1}.String())
	require.Equal(t, "0 passed, 0 warnings, 1 failed, 3 skipped, 26 not tried", check.Summary{Failed: 1, Skipped: 3, NotTried: 26}.String())
}
