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

// ErrNotTrace is wrapped by errors about a file, or a server's response, that is not a trace or
// has another format version.
var ErrNotTrace = errors.New("not a trace")

// Header is the JSON in the first line of a trace file.
type Header struct {
	Type    string    `json:"type"`    // "trace"
	Version int       `json:"version"` // FormatVersion
	Session string    `json:"session"` // the session's id
	Started time.Time `json:"started"`
}

// Record is the JSON of an [Entry] in a line of a trace file.
type Record struct {
	Seq       int64           `json:"seq"`
	ElapsedNS int64           `json:"t_ns"` // since the journal began, in nanoseconds
	WallTime  time.Time       `json:"wall"`
	Hop       Hop             `json:"hop"`
	ConsoleID int             `json:"conn"`
	Type      string          `json:"type"`
	Action    string          `json:"action"`
	TxID      string          `json:"tx_id"` // or else the agent_tx_id
	CellID    string          `json:"cell_id"`
	BodyBytes int             `json:"bytes"`
	Note      Note            `json:"note"`
	Message   json.RawMessage `json:"msg"`   // the frame; nil where the entry RefSeq has it
	RefSeq    int64           `json:"ref"`   // 0: Message has the frame
	CauseSeq  int64           `json:"cause"` // the entry that this one was made out of; 0: none

	// Offset is where the line begins in the file, in bytes, for [ReadRecordAt]. Only
	// ReadRecords and ReadRecordAt set it.
	Offset int64 `json:"-"`
}

// ReadRecords reads a trace file, calls each with every record in order, and returns the
// header. It stops at the first error of each and returns it. It also fails if a line cannot be
// read or parsed. A last line without a newline, left by a killed server or still being
// written, is ignored. Only one line is held in memory at a time.
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

// ParseHeader parses the first line of a trace file. It fails with [ErrNotTrace] if the line is
// something else or has another format version.
func ParseHeader(line []byte) (header Header, err error) {
	err = parseHeaderInto(line, &header)
	return header, err
}

// ParseRecord parses a line of a trace file other than the first. The record shares no memory
// with line. It fails if the line is not the JSON of an entry.
func ParseRecord(line []byte) (record Record, err error) {
	if err := json.Unmarshal(line, &record); err != nil {
		return record, fmt.Errorf("not an entry of a trace: %w", err)
	}
	return record, nil
}

// parseHeaderInto parses the first line of a trace file into header. It fails with
// [ErrNotTrace] if the line is something else or has another format version.
func parseHeaderInto(line []byte, header *Header) error {
	if err := json.Unmarshal(line, header); err != nil {
		return fmt.Errorf("%w: %w", ErrNotTrace, err)
	}
	if header.Type != "trace" || header.Version != FormatVersion {
		const maxShown = 100
		line = bytes.TrimSpace(line)
		return fmt.Errorf("%w of version %d: %s", ErrNotTrace, FormatVersion, line[:min(len(line), maxShown)])
	}
	return nil
}

// readRecord parses the line that begins at offset, in bytes, in a trace file, and calls each
// with the record. It fails if the line cannot be parsed, and with the error of each.
func readRecord(line []byte, offset int64, each func(Record) error) error {
	record, err := ParseRecord(line)
	if err != nil {
		return err
	}
	record.Offset = offset
	return each(record)
}

// ReadRecordAt reads the one record of a trace file whose line begins at offset, in bytes; it
// is the Offset of a record from [ReadRecords]. It fails if the line cannot be read or parsed.
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

// unexpectedEOF converts io.EOF to io.ErrUnexpectedEOF and returns other errors as they are:
// the end of a file within a line is an error.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// LineWithoutMessage returns a copy of a line of a trace file without its last member, "msg". A
// line that has none, such as the header, is copied whole.
func LineWithoutMessage(line []byte) []byte {
	outside, _, found := cutAtMessage(line)
	if !found {
		return bytes.Clone(line)
	}
	return append(bytes.Clone(outside), '}')
}

// LineMessage returns the value of the member "msg" of a line of a trace file, as a slice of
// line; nil if the line has none.
func LineMessage(line []byte) []byte {
	_, message, _ := cutAtMessage(line)
	return bytes.TrimSuffix(message, []byte("}"))
}

// cutAtMessage splits a line of a trace file into the part before the member "msg" and the part
// after that name. No text within the line can be mistaken for the name, because quotes in
// texts are escaped.
func cutAtMessage(line []byte) (outside, message []byte, found bool) {
	return bytes.Cut(line, []byte(`,"msg":`))
}
