package runs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// openMode opens a file to be read, without waiting for anybody: as of a pipe.
const openMode = os.O_RDONLY | syscall.O_NONBLOCK

// LineFiles opens files of JSON Lines, and remembers where lines of them begin. The
// zero value is ready. It is safe for concurrent use, and keeps no file open.
type LineFiles struct{ indexes memory[*index] }

// Open opens the plain file at path, which may be a link to one. Where there is
// none the error wraps ErrNotFound.
func (f *LineFiles) Open(path string) (*LineFile, error) {
	file, err := os.OpenFile(path, openMode, 0)
	if err != nil {
		return nil, noSuch("file", path, err)
	}
	file, info, err := plain(file)
	if err != nil {
		return nil, noSuch("file", path, err)
	}
	return f.lines(path, path, file, info)
}

// lines are those of an open file: known by key, and called name in errors.
func (f *LineFiles) lines(key, name string, file *os.File, info fs.FileInfo) (*LineFile, error) {
	head, err := io.ReadAll(io.NewSectionReader(file, 0, headBytes))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	known, ok := f.indexes.get(key)
	if !ok || !known.isOf(info, head) {
		known = &index{file: info, head: head, step: indexStep}
		f.indexes.put(key, known)
	}
	return &LineFile{name: name, file: file, index: known}, nil
}

// plain returns a file and what is known of it. One that is no plain file was not
// found, and is closed.
func plain(file *os.File) (*os.File, fs.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
