package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Header is the first line of a trace file.
type Header struct {
	Type    string    `json:"type"`
	Version int       `json:"version"`
	Session string    `json:"session"`
	Started time.Time `json:"started"`
}

// Record is an [Entry] as a trace file has it.
type Record struct {
	Seq    int64           `json:"seq"`
	TNS    int64           `json:"t_ns"`
	Wall   time.Time       `json:"wall"`
	Hop    Hop             `json:"hop"`
	Conn   int             `json:"conn"`
	Type   string          `json:"type"`
	Action string          `json:"action"`
	TxID   string          `json:"tx_id"`
	CellID string          `json:"cell_id"`
	Bytes  int             `json:"bytes"`
	Note   Note            `json:"note"`
	Msg    json.RawMessage `json:"msg"` // nil where Ref names the entry that has it
	Ref    int64           `json:"ref"`
}

// Read reads a trace file and calls each with every record in order, until it
// returns an error, which Read then returns. It holds one line at a time. A
// last line that was cut, by a killed server or because it is still being
// written, is left out.
func Read(in io.Reader, each func(Record) error) (Header, error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	var header Header
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
			err = readHeader(line, &header)
		} else {
			err = readRecord(line, each)
		}
		if err != nil {
			return header, fmt.Errorf("trace line %d: %w", n, err)
		}
	}
}

func readHeader(line []byte, header *Header) error {
	if err := json.Unmarshal(line, header); err != nil {
		return err
	}
	if header.Type != "trace" || header.Version != Version {
		return fmt.Errorf("not a trace of version %d: %s", Version, bytes.TrimSpace(line))
	}
	return nil
}

func readRecord(line []byte, each func(Record) error) error {
	var record Record
	if err := json.Unmarshal(line, &record); err != nil {
		return err
	}
	return each(record)
}
