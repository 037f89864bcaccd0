package runs

import (
	"os"
	"path/filepath"
)

// FindFolders returns the folders of runs in root and below it, without those in other runs. It looks
// at the nearest folders first, and at maxEntries files and folders at most. It does not follow links.
func FindFolders(root string, maxEntries int) (found []string) {
	for pending := []string{root}; len(pending) > 0 && maxEntries > 0; pending = pending[1:] {
		folder := pending[0]
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // it cannot be read
		}
		maxEntries -= len(entries)
		var below []string
		isRun := false
		for _, entry := range entries {
			isRun = isRun || entry.Name() == attemptsFileName
			if entry.IsDir() {
				below = append(below, filepath.Join(folder, entry.Name()))
			}
		}
		if isRun {
			found = append(found, folder)
			continue
		}
		pending = append(pending, below...)
	}
	return found
}
