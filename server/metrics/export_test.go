package metrics

import "assay/internal/trace"

// MaxPendingActions is the number of actions in flight that are measured in one
// session.
const MaxPendingActions = maxPendingActions

// Count counts one entry.
func (s *SessionCounter) Count(e *trace.Entry) { s.countEntry(e) }
