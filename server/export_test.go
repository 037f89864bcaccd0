package server

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// IsSessionID reports whether a session may have this id.
func IsSessionID(id string) bool { return isSessionID(id) }

// StreamTrace streams a trace to a watcher, with this timeout for each message.
func StreamTrace(ctx context.Context, conn protocol.Conn, tail *trace.Tail, from int64, writeTimeout time.Duration) error {
	return streamToWatcher(ctx, conn, writeTimeout, traceStream(tail, from, false))
}

// NewPageHandler serves the page in files, the output of a build.
func NewPageHandler(files fs.FS) (http.Handler, error) {
	page, err := newPage(files)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	page.register(mux)
	return mux, nil
}

// LimitBodyTime exports limitBodyTime, which bounds the time that the body of a request may take.
var LimitBodyTime = limitBodyTime //nolint:gochecknoglobals // an export for tests
