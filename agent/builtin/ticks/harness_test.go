package ticks_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/ticks"
	"assay/internal/model"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// startAgent runs an agent that works in ticks; cfg must have its model.
func startAgent(t *testing.T, cfg ticks.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return ticks.Run(ctx, conn, cfg) })
}

// startTicksAgent runs an agent in ticks on a scripted model. Unless cfg has a clock it is always
// 2026-11-20 12:03:04 UTC.
func startTicksAgent(t *testing.T, cfg ticks.Config, lines ...string) *agenttest.Server {
	t.Helper()
	if cfg.Agent.Clock == nil {
		cfg.Agent.Clock = func() time.Time { return time.Date(2026, time.November, 20, 12, 3, 4, 0, time.UTC) }
	}
	cfg.Agent.Model = agenttest.ParseModelScript(t, lines...).Client()
	return startAgent(t, cfg)
}

// objectScriptLine returns a line of a script: a reply with a JSON object.
func objectScriptLine(fields frame) string {
	text, _ := json.Marshal(fields)
	return agenttest.TextScriptLine(string(text))
}

// sentPrompts returns what the model was sent, message by message.
func sentPrompts(p *agenttest.Server) []string {
	p.T.Helper()
	var texts []string
	for _, m := range p.Transcript() {
		if m.Role == model.RoleUser {
			texts = append(texts, model.JoinTextBlocks(m.Content))
		}
	}
	return texts
}

// tickEventMetadata returns the metadata of the event of each tick.
func tickEventMetadata(p *agenttest.Server) []frame {
	var all []frame
	for _, f := range p.EventsOfType("tick") {
		all = append(all, f.ObjectField("metadata"))
	}
	return all
}

// readStateFile returns a file of a state folder, "" if it does not exist.
func readStateFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// gitOutput returns the output of a git command in a folder, "" if it fails.
func gitOutput(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + filepath.Join(dir, ".git")}, args...)...)
	out, _ := cmd.Output() // it fails before the first commit
	return strings.TrimSpace(string(out))
}

// recordingModel is a model that gives these texts as replies and records the requests.
type recordingModel struct {
	mu       sync.Mutex
	replies  []string
	requests []model.Request
}

// Complete gives the next reply.
func (s *recordingModel) Complete(_ context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	return agenttest.NewModelReply(model.Text(s.replies[len(s.requests)-1])), nil
}

// findEmacs returns the path of Emacs. Without Emacs it skips the test, except in CI.
func findEmacs(t *testing.T) string {
	t.Helper()
	emacs, err := exec.LookPath("emacs")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("emacs is not installed: what ticks do in Emacs Lisp is not tested here (package emacs-nox)")
	}
	require.NoError(t, err)
	return emacs
}
