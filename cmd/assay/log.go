package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"assay/internal/trace/flow"
	"assay/server"
)

// addLogFlags adds the flags that say what is logged and how.
func (p *process) addLogFlags(flags *pflag.FlagSet) {
	p.level.Set(slog.LevelWarn)
	p.logFormat = "text"
	flags.Var(levelFlag{p}, "log", "log `level` on stderr: debug, info, warn or error; info and debug include the messages between agent, notebook and kernel")
	flags.Var(choice{&p.logFormat, []string{"text", "json"}}, "log-format", "log format: `text|json`")
}

// log returns a logger to stderr, as the flags say.
func (p *process) log() *slog.Logger {
	if p.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.err, &slog.HandlerOptions{Level: &p.level}))
	}
	return slog.New(&textHandler{out: p.err, level: &p.level})
}

// logAtLeast lets more be logged than by default, unless --log says what is.
func (p *process) logAtLeast(level slog.Level) {
	if !p.logGiven {
		p.level.Set(min(level, p.level.Level()))
	}
}

// textHandler writes records for people, a line each, in one write:
//
//	15:04:05.000 WARN deadline missed action=get_context limit=8s
//	15:04:05.000 [eval] agent→console: agent_action create_cell tx_1a2b3c4d5e6f
//
// the second being what [flow.Log] makes. What others have put into them
// moves no cursor and forges no line. It is safe for concurrent use when out is.
type textHandler struct {
	out    io.Writer
	level  slog.Leveler
	attrs  string // of WithAttrs, as they are written
	prefix string // of WithGroup: "a.b."
}

// Enabled tells whether records of a level are written.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs returns a handler that adds attrs to each record.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with, line := *h, []byte(h.attrs)
	for _, attr := range attrs {
		line = appendAttr(line, h.prefix, attr)
	}
	with.attrs = string(line)
	return &with
}

// WithGroup returns a handler that writes name in front of the keys to come.
func (h *textHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.prefix += name + "."
	return &with
}

// Handle writes one record.
func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	var line []byte
	if !r.Time.IsZero() {
		line = r.Time.AppendFormat(line, "15:04:05.000 ")
	}
	add := func(line []byte, attr slog.Attr) []byte { return appendAttr(line, h.prefix, attr) }
	if r.Message == flow.LogMessage {
		add = appendFlow
	} else {
		line = append(line, r.Level.String()+" "+printable(r.Message)...)
	}
	r.Attrs(func(attr slog.Attr) bool {
		line = add(line, attr)
		return true
	})
	line = append(append(line, h.attrs...), '\n')
	_, err := h.out.Write(line)
	return err
}

func appendAttr(line []byte, prefix string, attr slog.Attr) []byte {
	value := attr.Value.Resolve()
	switch {
	case attr.Equal(slog.Attr{}):
		return line
	case value.Kind() != slog.KindGroup:
		return append(line, " "+word(prefix+attr.Key)+"="+word(value.String())...)
	case attr.Key != "":
		prefix += attr.Key + "."
	}
	for _, member := range value.Group() {
		line = appendAttr(line, prefix, member)
	}
	return line
}

// appendFlow appends an attribute of a record of [flow.Log].
func appendFlow(line []byte, attr slog.Attr) []byte {
	value := attr.Value.String()
	switch attr.Key {
	case "direction":
		return append(line, "[eval] "+value+":"...)
	case "type", "action", "tx_id":
		return append(line, " "+word(value)...)
	case "cell_id":
		return append(line, " cell="+word(value)...)
	case "note":
		return append(line, " ("+value+")"...)
	case "detail":
		return append(line, ": "+printable(value)...)
	case "session":
		if value == server.DefaultSessionID {
			return line
		}
	}
	return appendAttr(line, "", attr)
}

// word is text as one word: quoted when it has spaces, or is not plain.
func word(text string) string {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '=' || r == unicode.ReplacementChar
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// printable is text without what would move a cursor or end a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// levelFlag is the flag that sets a process's level.
type levelFlag struct{ p *process }

func (l levelFlag) String() string {
	if l.p == nil {
		return ""
	}
	return strings.ToLower(l.p.level.Level().String())
}

func (l levelFlag) Set(text string) error {
	l.p.logGiven = true
	return l.p.level.UnmarshalText([]byte(text))
}

func (l levelFlag) Type() string { return "level" }

// choice is a flag whose value is one of a few words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("want %s", strings.Join(c.words, ", "))
	}
	*c.value = text
	return nil
}

func (c choice) Type() string { return "word" }
