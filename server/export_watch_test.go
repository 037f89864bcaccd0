package server

import (
	"context"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// WatchWithin is watch with another patience.
func WatchWithin(ctx context.Context, conn protocol.Conn, tail *trace.Tail, from int64, patience time.Duration) error {
	return watchWithin(ctx, conn, tail, wanted{from: from}, patience)
}
