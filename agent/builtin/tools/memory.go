package tools

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

// contextFileName is the name of the memory file that the agent can add to.
const contextFileName = "context"

// memoryFolder is a folder of five Markdown files that last from session to session. It is safe
// for concurrent use.
type memoryFolder struct {
	dir   string
	clock func() time.Time
	mu    sync.Mutex // serialises appended entries
}

// memorySections is the content of the memory files when the agent started.
type memorySections []memorySection

type memorySection struct{ title, text string }

// memoryFiles returns names and titles of the files in the order of the system prompt.
func memoryFiles() []struct{ name, title string } {
	return []struct{ name, title string }{
		{"soul", "Your Identity"},
		{"user", "Your User"},
		{"telos", "Your Purpose"},
		{contextFileName, "Recent Context"},
		{"harness", "Your Architecture (Self-Awareness)"},
	}
}

func (m *memoryFolder) path(name string) string { return filepath.Join(m.dir, name+".md") }

// loadSections reads all five files. A missing file is an error that names it.
func (m *memoryFolder) loadSections() (memorySections, error) {
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

// memoryTools returns the two tools of an agent with a memory.
func (m *memoryFolder) memoryTools() []tool {
	return []tool{
		{
			name:        "read_memory",
			description: "Read one of your memory files as it is now.",
			schema:      objectSchema(`"name":{"type":"string","enum":["soul","user","telos","context","harness"]}`, "name"),
			readOnly:    true,
			run:         withDecodedInput(m.readFile),
		},
		{
			name: "update_context",
			description: "Add an entry to your memory file context, for what will matter in later sessions. " +
				"You see it with read_memory at once, and in your instructions from the next start on.",
			schema: objectSchema(`"category":{"type":"string","description":"One or two words."},
				"summary":{"type":"string","description":"One sentence."},
				"details":{"type":"string"},
				"followup":{"type":"string","description":"What is to be done later."}`, "category", "summary", "details"),
			run: withDecodedInput(m.addContextEntry),
		},
	}
}

// readFile is the tool read_memory: it returns the content of a memory file. If the file is
// missing or empty, the text of the result says so.
func (m *memoryFolder) readFile(_ context.Context, input struct{ Name string }) ([]model.Block, error) {
	text, err := os.ReadFile(m.path(input.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return textResult("Error: the memory has no file %s.md", input.Name), nil
	case err != nil:
		return nil, err
	case len(strings.TrimSpace(string(text))) == 0:
		return textResult("(the file is empty)"), nil
	}
	return []model.Block{model.Text(string(text))}, nil
}

// contextEntry is the input of update_context.
type contextEntry struct{ Category, Summary, Details, Followup string }

// addContextEntry is the tool update_context: it appends an entry to the memory file context.md in
// one write, so that other processes never read half of it.
func (m *memoryFolder) addContextEntry(_ context.Context, e contextEntry) ([]model.Block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, err := os.OpenFile(m.path(contextFileName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	text := "\n" + e.markdown(m.clock())
	if !endsInNewline(file) {
		text = "\n" + text
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return textResult("The entry was added with success."), nil
}

// markdown returns the entry as it stands in the file.
func (e contextEntry) markdown(now time.Time) string {
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

// endsInNewline reports whether a file ends with a newline or is empty.
func endsInNewline(file *os.File) bool {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err == nil
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, size-1)
	return err == nil && last[0] == '\n'
}
