package attempt_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
)

// When the timeout of a cell has passed, the call of stop ends before the next cell can run. If
// the cell ends earlier, stop is not called.
func TestStopAfterTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopping, release, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		ended := attempt.StopAfterTimeout(time.Second, func() {
			close(stopping)
			<-release
		})
		<-stopping
		go func() {
			defer close(over)
			ended()
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Fatal("cancel returned while stop was still running")
		default:
		}
		close(release)
		<-over
	})
	synctest.Test(t, func(t *testing.T) {
		stops := 0
		attempt.StopAfterTimeout(time.Second, func() { stops++ })()
		attempt.StopAfterTimeout(0, func() { stops++ })()
		<-time.After(time.Minute)
		require.Zero(t, stops)
	})
}
