package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrapeMetrics returns the value of each series of /metrics by name and label values, as
// in "assay_consoles{run}". The value of a histogram is its sample count.
func scrapeMetrics(t *testing.T, m *metrics.Registry) map[string]float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	require.NoError(t, err)
	series := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			series[name+joinLabelValues(metric)] = metricValue(metric)
		}
	}
	return series
}

// joinLabelValues joins the label values of a metric, as in "{kernel,ready}".
func joinLabelValues(metric *dto.Metric) string {
	var pairs []string
	for _, pair := range metric.GetLabel() {
		pairs = append(pairs, pair.GetValue())
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// metricValue returns the value of a counter or gauge, or the sample count of a
// histogram.
func metricValue(metric *dto.Metric) float64 {
	if histogram := metric.GetHistogram(); histogram != nil {
		return float64(histogram.GetSampleCount())
	}
	return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
}

// nonZeroSeries returns the series that begin with "assay_" and are not 0, without
// that prefix.
func nonZeroSeries(series map[string]float64) map[string]float64 {
	left := map[string]float64{}
	for name, value := range series {
		if strings.HasPrefix(name, "assay_") && value != 0 {
			left[strings.TrimPrefix(name, "assay_")] = value
		}
	}
	return left
}

// frameEntry returns a journal entry for a frame, with the envelope of its body.
func frameEntry(tb testing.TB, hop trace.Hop, note trace.Note, body string) trace.Entry {
	tb.Helper()
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	require.NoError(tb, err)
	entry := trace.Entry{Hop: hop, Note: note, Envelope: env, Body: []byte(body)}
	return entry
}

// sessionEntry returns an entry that the session itself records.
func sessionEntry(tb testing.TB, kind, body string) trace.Entry {
	tb.Helper()
	return trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: kind}, Body: []byte(body)}
}

// actionEntry returns the entry of an action of the agent.
func actionEntry(tb testing.TB, note trace.Note, action, tx string) trace.Entry {
	tb.Helper()
	return frameEntry(tb, trace.AgentToServer, note, fmt.Sprintf(`{"type":"agent_action","action":%q,"tx_id":%q}`, action, tx))
}

// responseEntry returns the entry of the answer to an action.
func responseEntry(tb testing.TB, note trace.Note, status, tx string) trace.Entry {
	tb.Helper()
	return frameEntry(tb, trace.ServerToAgent, note, fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":%q}`, tx, status))
}

// seriesOfSession counts a session with these entries to its end, and returns the
// series that are not 0 then.
func seriesOfSession(t *testing.T, entries ...trace.Entry) map[string]float64 {
	t.Helper()
	m := metrics.NewRegistry()
	journal := trace.NewJournal("s")
	counter := m.NewSessionCounter(journal)
	for _, entry := range entries {
		journal.Append(entry)
	}
	journal.Close()
	counter.Run(t.Context())
	return nonZeroSeries(scrapeMetrics(t, m))
}
