package subprocess

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"
)

// dirBatch is how many entries of a folder are read at once.
const dirBatch = 1000

// removeTree removes a file, or a folder with everything in it, as [os.RemoveAll] does and, if that
// fails, as removeStubbornFolder does.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	if info, statErr := os.Lstat(path); statErr != nil || !info.IsDir() {
		return err
	}
	return removeStubbornFolder(path)
}

// removeStubbornFolder removes a folder with everything in it, even if modes of folders prevent that, and
// however deep they are nested: code may nest them deeper than descriptors can be open. It needs two
// descriptors and names of three parts, because a folder is moved up before its content is removed. After
// an error the rest has been removed.
func removeStubbornFolder(path string) error {
	_ = os.Chmod(path, 0o700) //nolint:gosec // the folder is removed next
	top, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	r := treeRemover{top: top, movedTo: uuid.NewString()}
	r.note(top.Mkdir(r.movedTo, 0o700))
	r.emptyFolder(".")
	for ; r.removed < r.moved; r.removed++ {
		name := filepath.Join(r.movedTo, strconv.Itoa(r.removed))
		r.emptyFolder(name)
		r.note(top.Remove(name))
	}
	r.note(top.Remove(r.movedTo))
	return errors.Join(r.err, top.Close(), os.Remove(path))
}

// treeRemover removes the content of a folder.
type treeRemover struct {
	top     *os.Root
	movedTo string // folder in top to which other folders are moved, under the names 0, 1 and so on
	moved   int    // folders that were moved
	removed int    // those of them that were removed
	err     error  // the first error
}

// note keeps the first error.
func (r *treeRemover) note(err error) {
	if r.err == nil && !errors.Is(err, fs.ErrNotExist) {
		r.err = err
	}
}

// emptyFolder removes the content of a folder. Folders in it are moved.
func (r *treeRemover) emptyFolder(name string) {
	for {
		entries, err := r.readFolder(name)
		r.note(err)
		progress := false
		for _, entry := range entries {
			progress = r.removeEntry(name, entry) || progress
		}
		if !progress {
			return
		}
	}
}

// readFolder returns some entries of a folder.
func (r *treeRemover) readFolder(name string) ([]os.DirEntry, error) {
	folder, err := r.top.Open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(dirBatch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// removeEntry removes an entry of a folder, or moves it if it is a folder itself. It reports whether the
// entry is not there any more.
func (r *treeRemover) removeEntry(folder string, entry os.DirEntry) bool {
	path := filepath.Join(folder, entry.Name())
	if path == r.movedTo {
		return false
	}
	if !entry.IsDir() {
		err := r.top.Remove(path)
		r.note(err)
		return err == nil
	}
	_ = r.top.Chmod(path, 0o700)
	if err := r.top.Rename(path, filepath.Join(r.movedTo, strconv.Itoa(r.moved))); err != nil {
		r.note(err)
		return false
	}
	r.moved++
	return true
}
