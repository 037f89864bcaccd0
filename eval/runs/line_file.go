package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"syscall"
)

// maxLineBytes bounds a line, in bytes: the largest frame of the protocol, as
// escaped as it can be, has its place in it.
const maxLineBytes = 512 << 20

// Line is a line of a file, without its newline.
type Line struct {
	Number int64  // from 0, the header
	Text   []byte // valid until the next line is read
}

// LineFile is a file of JSON Lines, which may still be growing. It is safe for
// concurrent use. Whoever opened it must Close it.
type LineFile struct {
	name  string // below the run's folder, for errors
	file  *os.File
	index *lineIndex
}

// CacheKey is equal for all who have opened the same file, for as long as it has
// only grown and is asked for now and then. It serves as the key of a map.
func (l *LineFile) CacheKey() any { return l.index }

// Close closes the file.
func (l *LineFile) Close() error { return l.file.Close() }

// LinesFrom yields the lines from number n on that are there, one at a time; n below
// 0 is 0. A last line without its newline is one that somebody is still writing,
// and left out. An error, that of ctx too, is the last thing that is yielded.
func (l *LineFile) LinesFrom(ctx context.Context, n int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		at := l.index.markBefore(n)
		in := bufio.NewReaderSize(io.NewSectionReader(l.file, at.offset, math.MaxInt64-at.offset), 64<<10)
		var text []byte
		for ctx.Err() == nil {
			var size int
			var err error
			text, size, err = readLine(in, text[:0], at.line >= n)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("%s: line %d: %w", l.name, at.line, err))
				return
			}
			if at.line >= n && !yield(Line{Number: at.line, Text: text}, nil) {
				return
			}
			at.line++
			at.offset += int64(size)
			l.index.addMark(at)
		}
		yield(Line{}, context.Cause(ctx))
	}
}

// readLine reads up to the next newline and tells how many bytes that were. It
// appends them, less the newline, to text if keep says so.
func readLine(in *bufio.Reader, text []byte, keep bool) ([]byte, int, error) {
	size := 0
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		switch {
		case size > maxLineBytes:
			return text, size, fmt.Errorf("longer than %d MiB", maxLineBytes>>20)
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return text, size, err
		case keep && err == nil:
			return append(text, part[:len(part)-1]...), size, nil
		case keep:
			text = append(text, part...)
		case err == nil:
			return text, size, nil
		}
	}
}

// readOnlyNonblock opens a file to be read, without waiting for anybody: as of a pipe.
const readOnlyNonblock = os.O_RDONLY | syscall.O_NONBLOCK

// LineFiles opens files of JSON Lines, and remembers where lines of them begin. The
// zero value is ready. It is safe for concurrent use, and keeps no file open.
type LineFiles struct{ indexes cache[*lineIndex] }

// Open opens the plain file at path, which may be a link to one. Where there is
// none the error wraps ErrNotFound.
func (f *LineFiles) Open(path string) (*LineFile, error) {
	file, err := os.OpenFile(path, readOnlyNonblock, 0)
	if err != nil {
		return nil, notFoundError("file", path, err)
	}
	file, info, err := requireRegular(file)
	if err != nil {
		return nil, notFoundError("file", path, err)
	}
	return f.withIndex(path, path, file, info)
}

// withIndex are those of an open file: known by key, and called name in errors.
func (f *LineFiles) withIndex(key, name string, file *os.File, info fs.FileInfo) (*LineFile, error) {
	head, err := io.ReadAll(io.NewSectionReader(file, 0, fileHeadBytes))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	known, ok := f.indexes.get(key)
	if !ok || !known.matches(info, head) {
		known = &lineIndex{file: info, head: head, spacing: initialMarkSpacing}
		f.indexes.put(key, known)
	}
	return &LineFile{name: name, file: file, index: known}, nil
}

// requireRegular returns a file and what is known of it. One that is no plain file was not
// found, and is closed.
func requireRegular(file *os.File) (*os.File, fs.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
