package notebook

import (
	"fmt"
	"strings"
)

// TextOutput returns what the last run of a cell printed and showed, in order, as far
// as it is text: its stdio, the text/plain of its outputs, its tracebacks. Each
// output ends a line. Of a run that wrote more than is kept the middle is left
// out.
func (r *Executions) TextOutput(cellID string) string {
	outputs, _ := r.ran(cellID)
	var text strings.Builder
	for _, s := range outputs {
		text.WriteString(s.plain())
	}
	return text.String()
}

// plain is an output as text.
func (s shown) plain() string {
	const plain = "text/plain"
	switch {
	case s.rich == nil:
		return s.text.all()
	case s.rich.fault != nil:
		return strings.Join(s.rich.fault.traceback, "\n") + "\n"
	case s.rich.data[plain] != nil:
		return valueText(s.rich.data[plain]) + "\n"
	case s.rich.left[plain] > 0:
		return fmt.Sprintf("[%s, %d bytes]\n", plain, s.rich.left[plain])
	default:
		return ""
	}
}
