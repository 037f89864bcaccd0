// Package textlog formats log records for people: one line each, without control
// characters.
package textlog

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode"

	"assay/cmd/assay/internal/terminal"
	"assay/internal/trace/flow"
)

// Handler is a [slog.Handler] that writes one line per record, each with one write:
//
//	15:04:05.000 WARN deadline missed action=get_context limit=8s
//	15:04:05.000 [eval] agent→console: agent_action create_cell tx_1a2b3c4d5e6f
//
// The second line is a message of a session, as [flow.LogSessionMessages] logs it. Texts from agents and
// kernels can neither move the cursor nor begin a new line. It is safe for concurrent use
// if its writer is.
type Handler struct {
	out            io.Writer
	level          slog.Leveler
	defaultSession string

	attrs     string // formatted attributes of WithAttrs
	keyPrefix string // of WithGroup: "a.b."
}

// NewHandler returns a handler that writes records of at least that level to out. It
// leaves out the session of a session's message if that is defaultSession.
func NewHandler(out io.Writer, level slog.Leveler, defaultSession string) *Handler {
	return &Handler{out: out, level: level, defaultSession: defaultSession}
}

// Enabled reports whether records of that level are written.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs returns a handler that adds attrs to each record.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with, line := *h, []byte(h.attrs)
	for _, attr := range attrs {
		line = appendAttr(line, h.keyPrefix, attr)
	}
	with.attrs = string(line)
	return &with
}

// WithGroup returns a handler that puts name and a period in front of the keys of
// attributes added later.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.keyPrefix += name + "."
	return &with
}

// Handle writes one record.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	var line []byte
	if !r.Time.IsZero() {
		line = r.Time.AppendFormat(line, "15:04:05.000 ")
	}
	add := func(line []byte, attr slog.Attr) []byte { return appendAttr(line, h.keyPrefix, attr) }
	if r.Message == flow.LogRecordMessage {
		add = h.appendMessageAttr
	} else {
		line = append(line, r.Level.String()+" "+terminal.Printable(r.Message)...)
	}
	r.Attrs(func(attr slog.Attr) bool {
		line = add(line, attr)
		return true
	})
	line = append(append(line, h.attrs...), '\n')
	_, err := h.out.Write(line)
	return err
}

// appendAttr appends attr as " key=value", and a group as its members.
func appendAttr(line []byte, keyPrefix string, attr slog.Attr) []byte {
	value := attr.Value.Resolve()
	switch {
	case attr.Equal(slog.Attr{}):
		return line
	case value.Kind() != slog.KindGroup:
		return append(line, " "+quoteIfNeeded(keyPrefix+attr.Key)+"="+quoteIfNeeded(value.String())...)
	case attr.Key != "":
		keyPrefix += attr.Key + "."
	}
	for _, member := range value.Group() {
		line = appendAttr(line, keyPrefix, member)
	}
	return line
}

// appendMessageAttr appends an attribute of a record of [flow.LogSessionMessages].
func (h *Handler) appendMessageAttr(line []byte, attr slog.Attr) []byte {
	value := attr.Value.String()
	switch attr.Key {
	case "direction":
		return append(line, "[eval] "+value+":"...)
	case "type", "action", "tx_id":
		return append(line, " "+quoteIfNeeded(value)...)
	case "cell_id":
		return append(line, " cell="+quoteIfNeeded(value)...)
	case "note":
		return append(line, " ("+value+")"...)
	case "detail":
		return append(line, ": "+terminal.Printable(value)...)
	case "session":
		if value == h.defaultSession {
			return line
		}
	}
	return appendAttr(line, "", attr)
}

// quoteIfNeeded returns text, quoted as in Go if it is empty or has spaces, quotes, equals
// signs or characters that are not printable.
func quoteIfNeeded(text string) string {
	needsQuotes := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '=' || r == unicode.ReplacementChar
	}
	if text == "" || strings.ContainsFunc(text, needsQuotes) {
		return strconv.Quote(text)
	}
	return text
}
