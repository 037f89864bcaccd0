package blocks

import (
	"assay/agent/builtin"
	"assay/internal/protocol"
)

// RunnableCode exports runnableCode.
func RunnableCode(reply, language string) []string { return runnableCode(reply, language) }

// CutLabel exports cutLabel.
func CutLabel(query string) (label, text string, ok bool) { return cutLabel(query) }

// TaskName exports taskName.
func TaskName(label, query string) string { return taskName(label, query) }

// BlockOutput exports blockOutput for code that could be run.
func BlockOutput(response protocol.ExecuteCodeResponse) string { return blockOutput(response, nil) }

// CodeCompaction exports codeCompaction.
func CodeCompaction(language string) builtin.Compaction { return codeCompaction(language) }

// CrossLabelLog exports crossLabelLog.
type CrossLabelLog struct{ crossLabelLog }

// Add exports add.
func (o *CrossLabelLog) Add(label, speaker, text string) { o.add(label, speaker, text) }

// SectionFor exports section.
func (o *CrossLabelLog) SectionFor(label string) string { return o.sectionFor(label) }
