package loglimit_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/cmd/assay/internal/loglimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedLines collects lines that goroutines write.
type lockedLines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends text.
func (l *lockedLines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// take returns and forgets the lines.
func (l *lockedLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

// newLogger returns a limited logger, and the function that returns and forgets the lines that it has
// written.
func newLogger(limit *loglimit.Limit) (logger *slog.Logger, takeLines func() []string) {
	out := &lockedLines{}
	options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	return slog.New(limit.NewHandler(slog.NewTextHandler(out, options))), out.take
}

func TestRepeatedWarningsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := loglimit.New()
		logger, takeLines := newLogger(limit)
		one, two := logger.With("session", "one"), logger.With("session", "two")
		for range 1000 {
			one.Warn("it does not fit", "size", 3)
		}
		two.Warn("it does not fit")
		one.Error("another")
		lines := takeLines()
		require.Len(t, lines, loglimit.MaxLines+2)
		require.Equal(t, `level=WARN msg="it does not fit" session=one size=3`, lines[0])
		require.Equal(t, `level=WARN msg="it does not fit" session=two`, lines[loglimit.MaxLines])

		<-time.After(loglimit.Interval)
		synctest.Wait()
		require.Equal(t, []string{`level=WARN msg="repeated warnings were left out" session=one warning="it does not fit" count=990 in=10s`}, takeLines())

		one.Warn("it does not fit")
		require.Equal(t, []string{`level=WARN msg="it does not fit" session=one`}, takeLines())
		for range 20 {
			one.Warn("it does not fit")
		}
		takeLines()
		limit.Close()
		require.Equal(t, []string{`level=WARN msg="repeated warnings were left out" session=one warning="it does not fit" count=11 in=10s`}, takeLines())
		one.Warn("it does not fit")
		require.Len(t, takeLines(), 1)
	})
}

func TestOtherLevelsAreNotLimited(t *testing.T) {
	t.Parallel()
	limit := loglimit.New()
	defer limit.Close()
	logger, takeLines := newLogger(limit)
	for range 1000 {
		logger.WithGroup("g").Info("a message", "a", 1)
	}
	require.Len(t, takeLines(), 1000)
}
