package grading

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// mustRunCleanDemand is the [notebookDemand] that the notebook, run again from top to bottom
// in a fresh kernel, gives what it shows: each cell with code ends with ok, both in the
// notebook and again, and has the same lines of text output, in any order, since the
// output of a program that a cell starts may come before or after the cell's own.
// Addresses, as in <object at 0x7f2a41d0>, count as equal; [Input.Rerun] makes paths into
// the sandbox equal. All other text that changes between runs, such as times and random
// numbers, is a difference. It adds a failure to l for each cell that differs, and returns an
// error if the notebook cannot be run again.
func mustRunCleanDemand(ctx context.Context, l *notebookInspection) error {
	again, err := l.runAgain(ctx)
	if err != nil {
		return err
	}
	differing := pyvalue.List{}
	for _, cell := range l.cells {
		if difference := rerunDifference(cell.NotebookCell, again.Cells[cell.number-1]); difference != "" {
			differing = append(differing, pyvalue.NewInt(int64(cell.number)))
			l.addDemandResult(false, fmt.Sprintf("cell %d, run again: %s", cell.number, difference))
		}
	}
	if len(differing) == 0 {
		l.addDemandResult(true, fmt.Sprintf("%d cells, run again in a fresh kernel, do what the notebook shows", len(l.cells)))
	}
	l.metrics.Set("differing", differing)
	return nil
}

// runAgain runs the notebook again, if that was not done yet, and returns the result, which has the
// same number of cells.
func (l *notebookInspection) runAgain(ctx context.Context) (*Notebook, error) {
	if l.again != nil {
		return l.again, nil
	}
	if l.rerun == nil {
		return nil, newNotebookError("a notebook cannot be run again here")
	}
	again, err := l.rerun(ctx)
	if err != nil {
		return nil, newNotebookError("the notebook could not be run again: " + err.Error())
	}
	if len(again.Cells) != len(l.notebook.Cells) {
		return nil, newNotebookError(fmt.Sprintf("of %d cells %d came back from running them again", len(l.notebook.Cells), len(again.Cells)))
	}
	l.again = again
	return again, nil
}

// rerunFailure describes how a cell that was run again failed, or returns "" if it did not.
func rerunFailure(again NotebookCell) string {
	if again.Status == "ok" {
		return ""
	}
	text := "it ended with " + cmp.Or(again.Status, "no run at all")
	if line := lastNonBlankLine(again.Text); line != "" {
		text += ": " + quoteLineAsPython(line)
	}
	return text
}

// rerunDifference describes how a cell that was run again differs from the notebook, or
// returns "" if it does not.
func rerunDifference(shown, again NotebookCell) string {
	if failure := rerunFailure(again); failure != "" {
		return failure
	}
	switch shown.Status {
	case "":
		return "the notebook shows no run of it"
	case "ok":
		return textDifference(normalizeAddresses(shown.Text), normalizeAddresses(again.Text))
	default:
		return "it ended with ok, where the notebook shows " + shown.Status
	}
}

// textDifference describes the first line in which found differs from expected, or
// returns "" if both have the same lines in any order.
func textDifference(expected, found string) string {
	before, after := strings.Split(expected, "\n"), strings.Split(found, "\n")
	if slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))) {
		return ""
	}
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return fmt.Sprintf("line %d of its text: expected %s, found %s", i+1, quoteLineAsPython(before[i]), quoteLineAsPython(after[i]))
		}
	}
	n := min(len(before), len(after))
	if len(before) > n {
		return fmt.Sprintf("line %d of its text: expected %s, found its end", n+1, quoteLineAsPython(before[n]))
	}
	return fmt.Sprintf("line %d of its text: expected its end, found %s", n+1, quoteLineAsPython(after[n]))
}

// quoteLineAsPython returns a line as a Python string, cut after 200 characters.
func quoteLineAsPython(line string) string { return formatValue(pyvalue.String(line)) }

// lastNonBlankLine returns the last line of a text that is not blank.
func lastNonBlankLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// memoryAddress matches an address in memory as kernels show it, after "at " or ": ".
var memoryAddress = regexp.MustCompile(`( at |: )0x[0-9a-fA-F]{6,16}\b`)

// normalizeAddresses replaces the addresses in a text by 0x0. Other hexadecimal numbers stay.
func normalizeAddresses(text string) string { return memoryAddress.ReplaceAllString(text, "${1}0x0") }
