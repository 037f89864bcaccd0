package router

import (
	"bytes"

	"assay/internal/protocol"
)

// depthLimit is how many levels deep a message may be nested. Encoders give up at
// 10,000 and Python's reader at less than 1,000, and what a message holds is put
// into others: an output into what the agent is told of its run, and into what
// every console is told that comes later.
const depthLimit = 500

// tooDeep tells whether a well-formed message is nested deeper than that.
func tooDeep(body []byte) bool {
	if protocol.IsRawFrame(body) || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= depthLimit {
		return false
	}
	return protocol.IsDeeperThan(body, depthLimit)
}
