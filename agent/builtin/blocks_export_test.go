package builtin

import "assay/internal/protocol"

// Fenced is fenced.
type Fenced struct {
	Info, Text string
	Closed     bool
}

// FencedBlocks is fencedBlocks.
func FencedBlocks(text string) []Fenced {
	var out []Fenced
	for _, b := range fencedBlocks(text) {
		out = append(out, Fenced{b.info, b.text, b.closed})
	}
	return out
}

// CodeIn is codeIn.
func CodeIn(reply, language string) []string { return codeIn(reply, language) }

// CutLabel is cutLabel.
func CutLabel(query string) (label, text string, ok bool) { return cutLabel(query) }

// TaskTitle is taskTitle.
func TaskTitle(label, text string) string { return taskTitle(label, text) }

// BlockOutput is blockOutput of code that ran.
func BlockOutput(end protocol.ExecuteCodeResponse) string { return blockOutput(end, nil) }

// Journal is journal.
type Journal struct{ journal }

// Add is add.
func (j *Journal) Add(label, speaker, text string) { j.add(label, speaker, text) }

// Others is others.
func (j *Journal) Others(label string) string { return j.others(label) }
