package flow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"assay/internal/model"
	"assay/internal/trace"
)

// maxStatsRows is how many pairs of request kind and action are counted separately. Further
// ones are counted as "other", because an agent can invent any number of actions.
const maxStatsRows = 1000

// StatsCollector counts the frames and requests of a trace, or of a part of it, and collects how
// long the requests took. It takes 8 bytes per request. The zero value is empty and ready to use.
// Only one goroutine may use it.
type StatsCollector struct {
	frameCount int
	noteCounts map[trace.Note]int
	rows       map[statsKey]*statsRow
	models     ModelSummary

	times  timeDivider
	hasGap bool // not all frames from the first one on were added, so that times has no meaning
}

// statsKey identifies a row of the statistics: a kind of request and an action.
type statsKey struct {
	kind   RequestKind
	action string
}

// statsRow counts the requests of one kind and action, and how long each took.
type statsRow struct {
	samples                      []delaySample // of those with a total time
	count                        int           // all of them
	timedOut, failed, unanswered int
}

// delaySample packs how long a request took and its slowest hop into an integer: the time in
// nanoseconds, shifted left by hopBits, and in the low bits the hop's index in hopNames.
// Sorting samples sorts them by time.
type delaySample int64

const (
	hopBits = 4

	// maxSampleTime is the longest time that a sample holds; a longer one is cut.
	maxSampleTime = time.Duration(1<<(63-hopBits) - 1)
)

// hopNames returns the names of all hops at which a request can be.
func hopNames() []string {
	return []string{hopServer, hopNotebook, hopKernel, hopConsole, hopAgent, hopQueue, hopRun, hopWait, hopModel, hopReply}
}

// newDelaySample returns the sample of a request that took so long and was longest at this hop.
// A negative time counts as 0.
func newDelaySample(took time.Duration, hop string) delaySample {
	took = min(max(took, 0), maxSampleTime)
	return delaySample(took)<<hopBits | delaySample(max(0, slices.Index(hopNames(), hop)))
}

// duration returns how long the request took.
func (s delaySample) duration() time.Duration { return time.Duration(s >> hopBits) }

// slowestHop returns the name of the hop at which the request was longest.
func (s delaySample) slowestHop() string { return hopNames()[s&(1<<hopBits-1)] }

// AddFrame counts a frame and its note, and the request whose delay is shown with the frame.
func (s *StatsCollector) AddFrame(f Frame) {
	s.times.add(f.Record, f.Requests)
	s.hasGap = s.hasGap || f.Record.Seq != int64(s.frameCount)+1
	s.countFrame(f)
}

// countFrame is AddFrame without the division of the time.
func (s *StatsCollector) countFrame(f Frame) {
	if s.rows == nil {
		s.noteCounts, s.rows = map[trace.Note]int{}, map[statsKey]*statsRow{}
	}
	s.frameCount++
	if f.Record.Note != "" {
		s.noteCounts[f.Record.Note]++
	}
	if f.DelayRequest != nil {
		s.rowOfRequest(f.DelayRequest).addRequest(f.DelayRequest)
		s.addModelCall(f.DelayRequest)
	}
}

// addModelCall adds a request to the sums over calls of models if it is one.
func (s *StatsCollector) addModelCall(q *Request) {
	c, sum := q.Call, &s.models
	if c == nil {
		return
	}
	sum.Calls++
	sum.RetryWaitMS += c.RetryWaitMS
	if q.Sent.IsSet() {
		sum.WaitMS += inMilliseconds(q.Sent.Elapsed - q.Asked.Elapsed)
	}
	if c.Usage == nil {
		return
	}
	sum.Usage = sum.Usage.Add(*c.Usage)
	if sum.isPriceUnknown = sum.isPriceUnknown || c.CostUSD == nil; sum.isPriceUnknown {
		sum.CostUSD = nil
		return
	}
	total := *c.CostUSD
	if sum.CostUSD != nil {
		total += *sum.CostUSD
	}
	sum.CostUSD = &total
}

// rowOfRequest returns the row in which the request q is counted; it adds a row for a new kind and
// action.
func (s *StatsCollector) rowOfRequest(q *Request) *statsRow {
	key := statsKey{q.Kind, printableText(q.Action, maxShownNameRunes)}
	row := s.rows[key]
	if row == nil && len(s.rows) >= maxStatsRows {
		key = statsKey{q.Kind, "other"}
		row = s.rows[key]
	}
	if row == nil {
		row = &statsRow{}
		s.rows[key] = row
	}
	return row
}

// addRequest counts a request by its state, and its total time if that is known.
func (r *statsRow) addRequest(q *Request) {
	r.count++
	switch q.State {
	case StateTimedOut:
		r.timedOut++
	case StateFailed:
		r.failed++
	case StateUnanswered:
		r.unanswered++
	case StateAnswered:
	}
	if total, ok := q.TotalTime(); ok {
		r.samples = append(r.samples, newDelaySample(total, q.SlowestHop()))
	}
}

// Summary is the JSON of the statistics of a trace that [StatsCollector] has collected.
type Summary struct {
	Frames  int                `json:"frames"`
	Actions []ActionSummary    `json:"actions"` // by kind, then by name
	Notes   map[trace.Note]int `json:"notes"`

	Models *ModelSummary `json:"models,omitempty"` // absent: the agent has called no model
	Time   *TimeShares   `json:"time,omitempty"`   // absent: the agent got no task, or only some frames were counted
}

// ModelSummary is the JSON of what all calls of an agent's models have used together.
type ModelSummary struct {
	Calls       int         `json:"calls"`
	Usage       model.Usage `json:"usage"`
	CostUSD     *float64    `json:"cost_usd"`      // null: the price of a call is not known, or no call was answered
	WaitMS      float64     `json:"wait_ms"`       // until other calls had ended
	RetryWaitMS float64     `json:"retry_wait_ms"` // after a model's API had refused a call for now

	isPriceUnknown bool
}

// ActionSummary is the JSON of the statistics of all requests of one kind and action.
// Percentiles (by nearest rank) and the maximum are in milliseconds, over the requests that
// were answered, even with an error; null if there are none.
type ActionSummary struct {
	Kind       RequestKind `json:"kind"`
	Action     string      `json:"action"`
	Count      int         `json:"count"`
	P50MS      *float64    `json:"p50_ms"`
	P99MS      *float64    `json:"p99_ms"`
	MaxMS      *float64    `json:"max_ms"`
	P99Hop     string      `json:"p99_hop"` // the slowest hop of the request at p99
	TimedOut   int         `json:"timed_out"`
	Failed     int         `json:"failed"`
	Unanswered int         `json:"unanswered"`
}

// Summary returns the statistics of all frames added so far, sorted by kind and then by action.
func (s *StatsCollector) Summary() Summary {
	sum := Summary{Frames: s.frameCount, Actions: []ActionSummary{}, Notes: map[trace.Note]int{}}
	maps.Copy(sum.Notes, s.noteCounts)
	if s.models.Calls > 0 {
		sum.Models = new(s.models)
	}
	if !s.hasGap {
		sum.Time = s.times.result()
	}
	for key, row := range s.rows {
		sum.Actions = append(sum.Actions, row.actionSummary(key))
	}
	slices.SortFunc(sum.Actions, func(a, b ActionSummary) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Action, b.Action))
	})
	return sum
}

// actionSummary returns the statistics of the row whose kind and action are in key. It sorts
// the samples.
func (r *statsRow) actionSummary(key statsKey) ActionSummary {
	sum := ActionSummary{
		Kind: key.kind, Action: key.action, Count: r.count,
		TimedOut: r.timedOut, Failed: r.failed, Unanswered: r.unanswered,
	}
	if len(r.samples) == 0 {
		return sum
	}
	slices.Sort(r.samples)
	p99 := r.percentile(99)
	sum.P50MS = new(inMilliseconds(r.percentile(50).duration()))
	sum.P99MS, sum.P99Hop = new(inMilliseconds(p99.duration())), p99.slowestHop()
	sum.MaxMS = new(inMilliseconds(r.percentile(100).duration()))
	return sum
}

// percentile returns the smallest sample that at least p percent of the samples do not exceed.
// The samples must be sorted and not empty.
func (r *statsRow) percentile(p int) delaySample {
	return r.samples[(len(r.samples)*p+99)/100-1]
}
