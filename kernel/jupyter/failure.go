package jupyter

import (
	"regexp"
	"strings"
)

// failure is an error that code raised.
type failure struct {
	name, value string
	traceback   []string
}

// newFailure takes the colours out of an error, because its readers are agents,
// and puts the error itself behind its traceback, where some languages have it in
// front.
func newFailure(name, value string, traceback []string) *failure {
	colours := regexp.MustCompile(`\x1b\[[0-9;:]*[A-Za-z]`)
	f := &failure{name: colours.ReplaceAllString(name, ""), value: colours.ReplaceAllString(value, "")}
	var lines []string
	for _, entry := range traceback {
		lines = append(lines, strings.TrimRight(colours.ReplaceAllString(entry, ""), "\n"))
	}
	line := f.line()
	text := strings.Trim(strings.TrimPrefix(strings.Join(lines, "\n"), line), "\n")
	if text == "Traceback:" { // of IRkernel, with nothing behind it
		text = ""
	}
	if !strings.HasSuffix(strings.TrimRight(text, ": "), line) {
		text = strings.TrimPrefix(text+"\n"+line, "\n")
	}
	f.traceback = strings.Split(text, "\n")
	return f
}

// line is the error without its traceback. Some languages have no names for
// errors and say all in the value.
func (f *failure) line() string {
	value := strings.TrimSpace(f.value)
	switch {
	case value == "":
		return f.name
	case f.name == "" || strings.HasPrefix(strings.ToLower(value), "error"):
		return value
	default:
		return f.name + ": " + value
	}
}

// clip bounds each part to most bytes.
func (f *failure) clip(most int) {
	f.value = clip(f.value, most)
	if text := strings.Join(f.traceback, "\n"); len(text) > most {
		f.traceback = strings.Split(clip(text, most), "\n")
	}
}

// text is the traceback, the error itself last.
func (f *failure) text() string { return strings.Join(f.traceback, "\n") + "\n" }
