package blocks

import (
	"assay/agent/builtin"
	"assay/internal/protocol"
)

// RunnableCode calls runnableCode, which returns the code of the blocks of a reply that are run.
func RunnableCode(reply, language string) []string { return runnableCode(reply, language) }

// SplitLabel calls splitLabel, which splits a query "@label text".
func SplitLabel(query string) (label, text string, ok bool) { return splitLabel(query) }

// TaskName calls taskName, which returns the name of the work on a query.
func TaskName(label, query string) string { return taskName(label, query) }

// BlockOutput calls blockOutput, which returns what the model sees of a block that was run.
func BlockOutput(response protocol.ExecuteCodeResponse) string { return blockOutput(response, nil) }

// CodeCompaction returns the codeCompaction of a kernel's language: the rule by which a
// conversation that is too long loses replies with code together with their outputs.
func CodeCompaction(language string) builtin.Compaction { return codeCompaction(language) }

// CrossLabelLog is a crossLabelLog, the record of what was said in all labels.
type CrossLabelLog struct{ crossLabelLog }

// Add records what a speaker said in a label.
func (o *CrossLabelLog) Add(label, speaker, text string) { o.add(label, speaker, text) }

// SectionFor returns the section that shows a label what was said in the others.
func (o *CrossLabelLog) SectionFor(label string) string { return o.sectionFor(label) }
