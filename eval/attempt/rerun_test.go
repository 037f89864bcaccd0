package attempt_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
)

// A stop that comes late is made before anything else can run, or not at all.
func TestStopLate(t *testing.T) {
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
			t.Fatal("the next cell could run while the last one is being stopped")
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
