package endpoint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model/endpoint"
)

func TestParseIdleTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"1": time.Second, "0.5": 500 * time.Millisecond, "0": -1, "86400": 24 * time.Hour, "1e-9": time.Millisecond} {
		got, err := endpoint.ParseIdleTimeout(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "86401", "2m"} {
		_, err := endpoint.ParseIdleTimeout(text)
		require.EqualError(t, err, fmt.Sprintf("idle_s must be a number of seconds up to 86400, 0 for no limit, not %q", text))
	}
}
