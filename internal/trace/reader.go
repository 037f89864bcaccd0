package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// ErrNotTrace says that a file, or what a server sends, is not a trace that can
// be read.
var ErrNotTrace = errors.New("not a trace")

// Header is the first line of a trace file.
type Header struct {
	Type    string    `json:"type"`
	Version int       `json:"version"`
	Session string    `json:"session"`
	Started time.Time `json:"started"`
}

// Record is an [Entry] as a trace file has it.
type Record struct {
	Seq       int64           `json:"seq"`
	ElapsedNS int64           `json:"t_ns"`
	WallTime  time.Time       `json:"wall"`
	Hop       Hop             `json:"hop"`
	ConsoleID int             `json:"conn"`
	Type      string          `json:"type"`
	Action    string          `json:"action"`
	TxID      string          `json:"tx_id"`
	CellID    string          `json:"cell_id"`
	BodyBytes int             `json:"bytes"`
	Note      Note            `json:"note"`
	Message   json.RawMessage `json:"msg"` // nil where Ref names the entry that has it
	RefSeq    int64           `json:"ref"`
	CauseSeq  int64           `json:"cause"` // the entry that this one was made out of

	Offset int64 `json:"-"` // of its line in the file, for ReadRecordAt
}

// ReadRecords reads a trace file and calls each with every record in order, until it
// returns an error, which Read then returns. It holds one line at a time. A
// last line that was cut, by a killed server or because it is still being
// written, is left out.
func ReadRecords(in io.Reader, each func(Record) error) (Header, error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	var header Header
	var offset int64
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if n == 1 {
				return header, errors.New("trace: no header line")
			}
			return header, nil
		}
		if err != nil {
			return header, err
		}
		if n == 1 {
			err = parseHeaderInto(line, &header)
		} else {
			err = readRecord(line, offset, each)
		}
		offset += int64(len(line))
		if err != nil {
			return header, fmt.Errorf("trace line %d: %w", n, err)
		}
	}
}

// ParseHeader reads the first line of a trace file. One that is something else
// is [ErrNotTrace].
func ParseHeader(line []byte) (header Header, err error) {
	err = parseHeaderInto(line, &header)
	return header, err
}

// ParseRecord reads any other line of a trace file. The record shares nothing
// with line.
func ParseRecord(line []byte) (record Record, err error) {
	if err := json.Unmarshal(line, &record); err != nil {
		return record, fmt.Errorf("not an entry of a trace: %w", err)
	}
	return record, nil
}

func parseHeaderInto(line []byte, header *Header) error {
	if err := json.Unmarshal(line, header); err != nil {
		return fmt.Errorf("%w: %w", ErrNotTrace, err)
	}
	if header.Type != "trace" || header.Version != FormatVersion {
		const most = 100
		line = bytes.TrimSpace(line)
		return fmt.Errorf("%w of version %d: %s", ErrNotTrace, FormatVersion, line[:min(len(line), most)])
	}
	return nil
}

func readRecord(line []byte, offset int64, each func(Record) error) error {
	record, err := ParseRecord(line)
	if err != nil {
		return err
	}
	record.Offset = offset
	return each(record)
}

// ReadRecordAt reads the record whose line begins at offset, as Read has told.
func ReadRecordAt(in io.ReaderAt, offset int64) (Record, error) {
	rest := io.NewSectionReader(in, offset, math.MaxInt64-offset)
	line, err := bufio.NewReader(rest).ReadBytes('\n')
	if err != nil {
		return Record{}, fmt.Errorf("trace at byte %d: %w", offset, unexpectedEOF(err))
	}
	var record Record
	err = readRecord(line, offset, func(r Record) error { record = r; return nil })
	return record, err
}

// unexpectedEOF keeps a line that is cut from being taken for the end of a file.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
