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

// maxLineBytes is the length of the longest line that is read. The largest frame of the
// protocol fits even if every character of it is escaped.
const maxLineBytes = 512 << 20

// Line is one line of a [LineFile]: its number and its text.
type Line struct {
	Number int64  // from 0, which is the header
	Text   []byte // without the newline; valid until the next line is read
}

// LineFile is an open JSON Lines file, such as a trace, which may still be growing. It is safe
// for concurrent use. The caller must Close it.
type LineFile struct {
	name      string // path in error texts
	file      *os.File
	lineIndex *lineIndex // shared by all who have opened this file
}

// CacheKey returns a key for caching data derived from the file. Opening the same file again
// gives an equal key, as long as the file has only grown and its line index is still cached.
func (l *LineFile) CacheKey() any { return l.lineIndex }

// Close closes the LineFile's underlying file.
func (l *LineFile) Close() error { return l.file.Close() }

// LinesFrom yields the lines of the file from number n on, counted from 0; a negative n means
// 0. It stops at the current end of the file and leaves out a last line without a newline,
// which is still being written. An error, also the cause of ctx, is yielded last.
func (l *LineFile) LinesFrom(ctx context.Context, n int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		at := l.lineIndex.markBefore(n)
		in := bufio.NewReaderSize(io.NewSectionReader(l.file, at.offset, math.MaxInt64-at.offset), 64<<10)
		var text []byte
		for ctx.Err() == nil {
			var size int
			var err error
			text, size, err = readLine(in, text[:0], at.lineNumber >= n)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("%s: line %d: %w", l.name, at.lineNumber, err))
				return
			}
			if at.lineNumber >= n && !yield(Line{Number: at.lineNumber, Text: text}, nil) {
				return
			}
			at.lineNumber++
			at.offset += int64(size)
			l.lineIndex.addMark(at)
		}
		yield(Line{}, context.Cause(ctx))
	}
}

// readLine reads one line and returns how many bytes it has with its newline. If keep is set it
// appends the line, without the newline, to text and returns that. It fails with io.EOF for a
// line without a newline, and if the line has more than maxLineBytes.
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

// openForReadingFlags are the flags of open(2) for reading. With them opening a pipe does not
// block.
const openForReadingFlags = os.O_RDONLY | syscall.O_NONBLOCK

// LineFileOpener opens JSON Lines files and caches where their lines begin. The zero value is ready
// to use. It keeps no file open and is safe for concurrent use.
type LineFileOpener struct{ indexes boundedCache[*lineIndex] }

// Open opens the regular file at path, which may be a symbolic link to one. It fails with
// ErrNotFound if there is none.
func (f *LineFileOpener) Open(path string) (*LineFile, error) {
	file, err := os.OpenFile(path, openForReadingFlags, 0)
	if err != nil {
		return nil, wrapOpenError("file", path, err)
	}
	file, info, err := requireRegularFile(file)
	if err != nil {
		return nil, wrapOpenError("file", path, err)
	}
	return f.openIndexed(path, path, file, info)
}

// openIndexed returns the LineFile of an open file. It uses the line index cached under key, or
// a new one if there is none or it belongs to another file. name is the file's name in error
// texts. If it fails, the file is closed.
func (f *LineFileOpener) openIndexed(key, name string, file *os.File, info fs.FileInfo) (*LineFile, error) {
	head, err := io.ReadAll(io.NewSectionReader(file, 0, fileHeadBytes))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	index, isCached := f.indexes.get(key)
	if !isCached || !index.matches(info, head) {
		index = &lineIndex{fileInfo: info, fileHead: head, spacing: initialMarkSpacing}
		f.indexes.put(key, index)
	}
	return &LineFile{name: name, file: file, lineIndex: index}, nil
}

// requireRegularFile returns an open file and its info if it is a regular file. Otherwise it
// closes the file and fails with fs.ErrNotExist.
func requireRegularFile(file *os.File) (*os.File, fs.FileInfo, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
