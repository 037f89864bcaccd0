package api

import (
	"math"
	"net/http"
	"strings"
	"time"

	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/endpoint"
)

// streamTypePrefix begins the types of the messages in which the agent streams a
// reply piece by piece.
const streamTypePrefix = "agent_stream_"

// FlowPage is the response of GET {base}/flow: entries of a trace without their
// messages, and the requests that they belong to.
type FlowPage struct {
	Entries     []FlowEntry           `json:"entries"`          // never null
	Requests    map[int64]FlowRequest `json:"requests"`         // by the seq of their first entry
	MatchCount  *int64                `json:"count,omitempty"`  // entries of the whole trace that the filter selects; absent: no filter
	HiddenCount *int64                `json:"hidden,omitempty"` // further entries that only streams=false leaves out; absent: streams are included
	NextFrom    *int64                `json:"next"`             // the "from" of the next page; null: there are no more entries yet
	LastSeq     int64                 `json:"last"`             // seq of the last entry that was looked at
	NewestSeq   int64                 `json:"end"`              // seq of the newest entry of the trace
	IsComplete  bool                  `json:"complete"`         // the trace has ended
	ModelCalls  int64                 `json:"model_calls"`      // how many calls of the agent's models the whole trace has so far
}

// FlowEntry is an entry of a trace without its message and time of day; see
// [trace.Record] for the fields that both have.
type FlowEntry struct {
	Seq         int64      `json:"seq"`
	ElapsedNS   int64      `json:"t_ns"` // since the trace began, in ns
	Hop         trace.Hop  `json:"hop"`
	ConsoleID   int        `json:"conn,omitempty"`
	Type        string     `json:"type"`
	Action      string     `json:"action,omitempty"`
	TxID        string     `json:"tx_id,omitempty"`
	CellID      string     `json:"cell_id,omitempty"`
	BodyBytes   int        `json:"bytes"`
	Note        trace.Note `json:"note,omitempty"`
	RefSeq      int64      `json:"ref,omitempty"`
	CauseSeq    int64      `json:"cause,omitempty"`
	Label       string     `json:"label,omitempty"`    // what an entry without an action is about, such as the state of the session
	RequestSeqs []int64    `json:"requests,omitempty"` // keys of FlowPage.Requests
}

// FlowRequest is a request and its answer, or what there is of them so far.
type FlowRequest struct {
	flow.RequestDelay
	Text      string  `json:"text"` // the delay, for people
	EntrySeqs []int64 `json:"seqs"` // of the entries asked, sent, replied, answered, late; 0: it did not happen, or not yet
}

// flowQuery are the parameters of GET {base}/flow.
type flowQuery struct {
	from       int64 // first seq
	skip       int64 // selected entries to skip from there
	limit      int   // entries per page
	filter     flow.Filter
	text       string // that entries must contain; empty: any
	hideStream bool   // leave out the pieces of streamed replies
}

// serveFlow handles GET {base}/flow.
func (h *Handlers) serveFlow(w http.ResponseWriter, r *http.Request, file TraceFile) error {
	q, err := readFlowQuery(r)
	if err != nil {
		return err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	var page FlowPage
	cached := h.traces.get(file.CacheKey())
	err = cached.update(r.Context(), file, func() error {
		var search *textSearch
		if q.text != "" {
			if search, err = cached.search(r.Context(), file, q.text); err != nil {
				return err
			}
		}
		page = q.page(cached.index, search)
		return nil
	})
	if err != nil {
		return err
	}
	page.IsComplete = file.IsComplete
	endpoint.WriteJSON(w, http.StatusOK, page)
	return nil
}

func readFlowQuery(r *http.Request) (flowQuery, error) {
	p := endpoint.ReadParameters(r, "from", "skip", "limit", "tx", "action", "cell", "hop", "late", "text", "streams")
	q := flowQuery{
		from: p.Number("from", 1, 1, math.MaxInt64), skip: p.Number("skip", 0, 0, math.MaxInt32),
		limit: int(p.Number("limit", defaultEntriesPerPage, 1, maxEntriesPerPage)),
		filter: flow.Filter{
			TxID: p.Text("tx"), Action: p.Text("action"), CellID: p.Text("cell"), Hop: readHopParameter(p),
			MinDelay: time.Duration(p.Number("late", 0, 0, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		},
		text: p.Text("text"), hideStream: p.OneOf("streams", "true", "false") == "false",
	}
	return q, p.Err()
}

// readHopParameter returns the parameter "hop"; empty selects any hop.
func readHopParameter(p *endpoint.Parameters) trace.Hop {
	words := []string{""}
	for _, hop := range trace.AllHops() {
		words = append(words, string(hop))
	}
	return trace.Hop(p.OneOf("hop", words...))
}

// page returns the page that the query selects of a trace. search holds the results
// for the query's text; nil if it has none.
func (q flowQuery) page(index *flow.Index, search *textSearch) FlowPage {
	page := FlowPage{Entries: []FlowEntry{}, Requests: map[int64]FlowRequest{}, LastSeq: q.from - 1, NewestSeq: index.EntryCount(), ModelCalls: index.ModelCallCount()}
	if q.filter == (flow.Filter{}) && search == nil && !q.hideStream {
		q.fillUnfiltered(&page, index)
	} else {
		q.fillFiltered(&page, index, search)
	}
	return page
}

func (q flowQuery) fillUnfiltered(page *FlowPage, index *flow.Index) {
	if q.from > page.NewestSeq || q.skip > page.NewestSeq-q.from {
		return
	}
	first := q.from + q.skip
	page.LastSeq = min(first+int64(q.limit)-1, page.NewestSeq)
	for seq := first; seq <= page.LastSeq; seq++ {
		page.addFrame(index, index.FrameAt(seq))
	}
	if page.LastSeq < page.NewestSeq {
		page.NextFrom = new(page.LastSeq + 1)
	}
}

// fillFiltered reads the whole trace, because it also counts all selected entries.
func (q flowQuery) fillFiltered(page *FlowPage, index *flow.Index, search *textSearch) {
	count, hidden := int64(0), int64(0)
	for seq := int64(1); seq <= page.NewestSeq; seq++ {
		frame := index.FrameAt(seq)
		if search != nil && !search.matches(seq) || !q.filter.Match(frame) {
			continue
		}
		if q.hideStream && frame.Record.Note == "" && strings.HasPrefix(frame.Record.Type, streamTypePrefix) {
			hidden++
			if seq >= q.from && q.skip == 0 && page.NextFrom == nil {
				page.addRequests(frame) // a hidden entry may be the answer to a request on the page
			}
			continue
		}
		count++
		switch {
		case seq < q.from:
		case q.skip > 0:
			q.skip--
		case len(page.Entries) < q.limit:
			page.addFrame(index, frame)
		case page.NextFrom == nil:
			page.NextFrom = new(seq)
		}
	}
	page.MatchCount = &count
	if q.hideStream {
		page.HiddenCount = &hidden
	}
	if page.NextFrom != nil {
		page.LastSeq = page.Entries[len(page.Entries)-1].Seq
	} else {
		page.LastSeq = max(page.LastSeq, page.NewestSeq)
	}
}

func (p *FlowPage) addFrame(index *flow.Index, frame flow.Frame) {
	r := frame.Record
	entry := FlowEntry{
		Seq: r.Seq, ElapsedNS: r.ElapsedNS, Hop: r.Hop, ConsoleID: r.ConsoleID, Type: r.Type, Action: r.Action, TxID: r.TxID, CellID: r.CellID,
		BodyBytes: r.BodyBytes, Note: r.Note, RefSeq: r.RefSeq, CauseSeq: r.CauseSeq, Label: index.LabelAt(r.Seq),
	}
	for _, q := range frame.Requests {
		entry.RequestSeqs = append(entry.RequestSeqs, q.Asked.Seq)
	}
	p.addRequests(frame)
	p.Entries = append(p.Entries, entry)
}

// addRequests adds the requests that a frame belongs to, each once.
func (p *FlowPage) addRequests(frame flow.Frame) {
	for _, q := range frame.Requests {
		if _, known := p.Requests[q.Asked.Seq]; !known {
			p.Requests[q.Asked.Seq] = newFlowRequest(q)
		}
	}
}

func newFlowRequest(q *flow.Request) FlowRequest {
	seqs := []int64{q.Asked.Seq, q.Sent.Seq, q.Replied.Seq, q.Answered.Seq, q.LateReply.Seq}
	return FlowRequest{RequestDelay: q.Delay(), Text: q.String(), EntrySeqs: seqs}
}
