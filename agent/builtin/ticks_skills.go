package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// skillFile is what a skill says, in a folder by its name.
const skillFile = "SKILL.md"

// skills are the texts by which threads can be worked on. The zero value has none.
type skills struct {
	dir   string
	names []string // in alphabetical order, as they were at the start
}

// openSkills looks which skills there are. An empty dir has none; one that cannot
// be read is an error.
func openSkills(dir string) (skills, error) {
	s := skills{dir: dir}
	if dir == "" {
		return s, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, fmt.Errorf("open the skills: %w", err)
	}
	for _, entry := range entries {
		if _, err := s.read(entry.Name()); err == nil {
			s.names = append(s.names, entry.Name())
		}
	}
	return s, nil
}

// text is what a skill says, or why it is not there.
func (s skills) text(name string) string {
	text, err := s.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "(There is no such skill.)"
	case err != nil:
		return fmt.Sprintf("(The skill cannot be read: %v.)", err)
	}
	return clip(strings.TrimSpace(text), maxOutput)
}

// read reads a skill as it is now. Its name, and links, lead nowhere out of the
// folder.
func (s skills) read(name string) (string, error) {
	if s.dir == "" || !regexp.MustCompile(`^[\pL\pN][\pL\pN._ -]*$`).MatchString(name) {
		return "", fs.ErrNotExist
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := root.ReadFile(path.Join(name, skillFile))
	return string(text), err
}
