package trace

import (
	"bytes"
	"cmp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/protocol"
	"assay/internal/rawjson"
)

// appendHeader appends the first line of the trace file of journal j to a buffer.
func appendHeader(dst []byte, j *Journal) []byte {
	dst = append(dst, `{"type":"trace","version":`...)
	dst = strconv.AppendInt(dst, FormatVersion, 10)
	dst = appendStringMember(dst, "session", j.SessionID)
	dst = appendStringMember(dst, "started", j.Started.UTC().Format(time.RFC3339Nano))
	return append(dst, "}\n"...)
}

// appendEntry appends the line of the trace file for one entry to a buffer. The field "msg"
// comes last.
func appendEntry(dst []byte, e *Entry) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = appendIntMember(dst, "t_ns", int64(e.Elapsed))
	dst = appendStringMember(dst, "wall", e.WallTime.UTC().Format(time.RFC3339Nano))
	dst = appendStringMember(dst, "hop", string(e.Hop))
	if e.ConsoleID != 0 {
		dst = appendIntMember(dst, "conn", int64(e.ConsoleID))
	}
	dst = appendStringMember(dst, "type", e.Type)
	for _, field := range []struct{ name, value string }{
		{"action", e.Action}, {"tx_id", cmp.Or(e.TxID, e.AgentTxID)}, {"cell_id", e.CellID},
	} {
		if field.value != "" {
			dst = appendStringMember(dst, field.name, field.value)
		}
	}
	dst = appendIntMember(dst, "bytes", int64(e.BodyBytes))
	if e.Note != "" {
		dst = appendStringMember(dst, "note", string(e.Note))
	}
	if e.CauseSeq != 0 {
		dst = appendIntMember(dst, "cause", e.CauseSeq)
	}
	if e.RefSeq != 0 {
		dst = appendIntMember(dst, "ref", e.RefSeq)
	} else {
		dst = appendMessage(append(dst, `,"msg":`...), e)
	}
	return append(dst, "}\n"...)
}

// appendMessage appends the value of the field "msg" to a buffer: the body as compact JSON, a
// malformed body as a string, and null if the entry has no body.
func appendMessage(dst []byte, e *Entry) []byte {
	if len(e.Body) == 0 {
		return append(dst, "null"...)
	}
	before := len(dst)
	if e.Note != NoteMalformed {
		if body, err := protocol.BodyToJSON(e.Body); err == nil {
			if isCompactJSON(body) {
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

// appendIntMember appends a comma and a JSON member with an integer to a line.
func appendIntMember(dst []byte, name string, value int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, value, 10)
}

// appendStringMember appends a comma and a JSON member with a string to a line.
func appendStringMember(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return appendQuoted(dst, value)
}

// appendQuoted appends text to a buffer as a quoted JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	// The only error is about invalid UTF-8, which is replaced all the same.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// isCompactJSON reports whether text, which is valid JSON, has no white space between its tokens.
// Checking this costs a fraction of compacting it.
func isCompactJSON(text []byte) bool {
	for {
		between, rest, quoted := bytes.Cut(text, []byte{'"'})
		if bytes.ContainsAny(between, " \t\r\n") {
			return false
		}
		if !quoted {
			return true
		}
		end := rawjson.StringEnd(rest)
		if end < 0 {
			return false
		}
		text = rest[end:]
	}
}
