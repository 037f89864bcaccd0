package gateway

import "time"

// SetWriteTimeout sets how long an agent may take to read a piece of a reply.
func (e *Endpoint) SetWriteTimeout(timeout time.Duration) { e.writeTimeout = timeout }
