package trace

import (
	"cmp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/protocol"
)

func appendHeader(dst []byte, j *Journal) []byte {
	dst = append(dst, `{"type":"trace","version":`...)
	dst = strconv.AppendInt(dst, FormatVersion, 10)
	dst = appendString(dst, "session", j.SessionID)
	dst = appendString(dst, "started", j.Started.UTC().Format(time.RFC3339Nano))
	return append(dst, "}\n"...)
}

func appendEntry(dst []byte, e *Entry) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = appendInt(dst, "t_ns", int64(e.Elapsed))
	dst = appendString(dst, "wall", e.WallTime.UTC().Format(time.RFC3339Nano))
	dst = appendString(dst, "hop", string(e.Hop))
	if e.ConsoleID != 0 {
		dst = appendInt(dst, "conn", int64(e.ConsoleID))
	}
	dst = appendString(dst, "type", e.Type)
	for _, field := range []struct{ name, value string }{
		{"action", e.Action}, {"tx_id", cmp.Or(e.TxID, e.AgentTxID)}, {"cell_id", e.CellID},
	} {
		if field.value != "" {
			dst = appendString(dst, field.name, field.value)
		}
	}
	dst = appendInt(dst, "bytes", int64(e.BodyBytes))
	if e.Note != "" {
		dst = appendString(dst, "note", string(e.Note))
	}
	if e.CauseSeq != 0 {
		dst = appendInt(dst, "cause", e.CauseSeq)
	}
	if e.RefSeq != 0 {
		dst = appendInt(dst, "ref", e.RefSeq)
	} else {
		dst = appendMessage(append(dst, `,"msg":`...), e)
	}
	return append(dst, "}\n"...)
}

// appendMessage appends the body, compacted; what is no message as a string.
func appendMessage(dst []byte, e *Entry) []byte {
	if len(e.Body) == 0 {
		return append(dst, "null"...)
	}
	before := len(dst)
	if e.Note != NoteMalformed {
		if body, err := protocol.ToJSON(e.Body); err == nil {
			if isCompact(body) {
				return append(dst, body...)
			}
			out, err := jsontext.AppendFormat(dst, body, jsontext.PreserveRawStrings(true),
				jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			if err == nil {
				return out
			}
		}
	}
	return appendQuoted(dst[:before], string(e.Body))
}

func appendInt(dst []byte, name string, value int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, value, 10)
}

func appendString(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return appendQuoted(dst, value)
}

// appendQuoted quotes any text; what is not UTF-8 in it becomes U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	// The only error is about invalid UTF-8, which has been replaced by then.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
