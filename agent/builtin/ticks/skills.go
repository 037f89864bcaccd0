package ticks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// skillFileName is the file with a skill's text, in the folder with the skill's name.
const skillFileName = "SKILL.md"

// skillNamePattern matches the names that a skill may have; none leads out of the folder.
var skillNamePattern = regexp.MustCompile(`^[\pL\pN][\pL\pN._ -]*$`)

// skillsFolder is a folder of instruction texts that a thread's prompt can include. The zero value
// has none.
type skillsFolder struct {
	dir   string
	names []string // in alphabetical order, as they were when the agent started
}

// openSkillsFolder lists the skills in a folder. An empty dir has none; a folder that cannot be
// read is an error.
func openSkillsFolder(dir string) (skillsFolder, error) {
	s := skillsFolder{dir: dir}
	if dir == "" {
		return s, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, fmt.Errorf("open the skills: %w", err)
	}
	for _, entry := range entries {
		if _, err := s.readSkill(entry.Name()); err == nil {
			s.names = append(s.names, entry.Name())
		}
	}
	return s, nil
}

// promptText returns the text of a skill, clipped, or a note why it is not available.
func (s skillsFolder) promptText(name string) string {
	text, err := s.readSkill(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "(There is no such skill.)"
	case err != nil:
		return fmt.Sprintf("(The skill cannot be read: %v.)", err)
	}
	return clipText(strings.TrimSpace(text))
}

// readSkill reads the current text of a skill. Neither names nor links lead out of the folder.
func (s skillsFolder) readSkill(name string) (string, error) {
	if s.dir == "" || !skillNamePattern.MatchString(name) {
		return "", fs.ErrNotExist
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := root.ReadFile(path.Join(name, skillFileName))
	return string(text), err
}
