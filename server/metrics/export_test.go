package metrics

import "assay/internal/trace"

// MaxPendingActions is the number of actions in flight that are measured in one
// session.
const MaxPendingActions = maxPendingActions

// CountEntry counts one entry.
func (s *SessionCounter) CountEntry(e *trace.Entry) { s.countEntry(e) }
