package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"assay/internal/model"
)

// contextFile is the one memory file that the agent adds to.
const contextFile = "context"

// memory is a folder of five Markdown files by which an agent knows itself. It
// is safe for concurrent use.
type memory struct {
	dir   string
	clock func() time.Time
	mu    sync.Mutex // one entry at a time
}

// memorySections is the memory as it was when the agent started.
type memorySections []memorySection

type memorySection struct{ title, text string }

// memoryFiles lists the files in the order of the system prompt.
func memoryFiles() []struct{ name, title string } {
	return []struct{ name, title string }{
		{"soul", "Your Identity"},
		{"user", "Your User"},
		{"telos", "Your Purpose"},
		{contextFile, "Recent Context"},
		{"harness", "Your Architecture (Self-Awareness)"},
	}
}

func (m *memory) path(name string) string { return filepath.Join(m.dir, name+".md") }

// load reads all five files.
func (m *memory) load() (memorySections, error) {
	var sections memorySections
	for _, file := range memoryFiles() {
		text, err := os.ReadFile(m.path(file.name))
		if err != nil {
			return nil, fmt.Errorf("load the memory: %w", err)
		}
		sections = append(sections, memorySection{file.title, string(text)})
	}
	return sections, nil
}

// tools are the two tools of an agent with a memory.
func (m *memory) tools() []tool {
	return []tool{
		{
			name:        "read_memory",
			description: "Read one of your memory files as it is now.",
			schema:      object(`"name":{"type":"string","enum":["soul","user","telos","context","harness"]}`, "name"),
			reads:       true,
			run:         takes(m.read),
		},
		{
			name: "update_context",
			description: "Add an entry to your memory file context, for what will matter in later sessions. " +
				"You see it with read_memory at once, and in your instructions from the next start on.",
			schema: object(`"category":{"type":"string","description":"One or two words."},
				"summary":{"type":"string","description":"One sentence."},
				"details":{"type":"string"},
				"followup":{"type":"string","description":"What is to be done later."}`, "category", "summary", "details"),
			run: takes(m.update),
		},
	}
}

// read returns a file. One that is not there is told as a text.
func (m *memory) read(_ context.Context, input struct{ Name string }) ([]model.Block, error) {
	text, err := os.ReadFile(m.path(input.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return says("Error: the memory has no file %s.md", input.Name), nil
	case err != nil:
		return nil, err
	case len(strings.TrimSpace(string(text))) == 0:
		return says("(the file is empty)"), nil
	}
	return []model.Block{model.Text(string(text))}, nil
}

// entry is what update_context adds.
type entry struct{ Category, Summary, Details, Followup string }

// update appends an entry in one write, so that nobody reads half of it.
func (m *memory) update(_ context.Context, e entry) ([]model.Block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, err := os.OpenFile(m.path(contextFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	text := "\n" + e.text(m.clock())
	if !endsInNewline(file) {
		text = "\n" + text
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return says("The entry was added with success."), nil
}

func (e entry) text(now time.Time) string {
	lines := []string{
		fmt.Sprintf("### %s - [%s]", now.Format("2006-01-02 15:04"), strings.Join(strings.Fields(e.Category), " ")),
		"**Summary:** " + strings.TrimSpace(e.Summary),
		"**Details:** " + strings.TrimSpace(e.Details),
	}
	if followup := strings.TrimSpace(e.Followup); followup != "" {
		lines = append(lines, "**Follow-up:** "+followup)
	}
	return strings.Join(lines, "\n") + "\n"
}

// endsInNewline is true of an empty file too.
func endsInNewline(file *os.File) bool {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err == nil
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, size-1)
	return err == nil && last[0] == '\n'
}
