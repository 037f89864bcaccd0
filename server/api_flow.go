package server

import (
	"math"
	"net/http"
	"strings"
	"time"

	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// streamPrefix is how the types of the pieces begin in which a reply arrives.
const streamPrefix = "agent_stream_"

// flowPage is an answer with entries and the requests that they are part of.
type flowPage struct {
	Entries  []flowEntry           `json:"entries"`
	Requests map[int64]flowRequest `json:"requests"` // by the entries that they begin with
	Count    *int64                `json:"count,omitempty"`
	Hidden   *int64                `json:"hidden,omitempty"` // that only streams=false leaves out
	Next     *int64                `json:"next"`
	Last     int64                 `json:"last"`
	End      int64                 `json:"end"`
	Complete bool                  `json:"complete"`
}

// flowEntry is an entry of a trace, less its time of day and what it carries.
type flowEntry struct {
	Seq      int64      `json:"seq"`
	TNS      int64      `json:"t_ns"`
	Hop      trace.Hop  `json:"hop"`
	Conn     int        `json:"conn,omitempty"`
	Type     string     `json:"type"`
	Action   string     `json:"action,omitempty"`
	TxID     string     `json:"tx_id,omitempty"`
	CellID   string     `json:"cell_id,omitempty"`
	Bytes    int        `json:"bytes"`
	Note     trace.Note `json:"note,omitempty"`
	Ref      int64      `json:"ref,omitempty"`
	Cause    int64      `json:"cause,omitempty"`
	Label    string     `json:"label,omitempty"`
	Requests []int64    `json:"requests,omitempty"`
}

// flowRequest is a request, as far as it has come.
type flowRequest struct {
	flow.Delay
	Text string  `json:"text"`
	Seqs []int64 `json:"seqs"` // asked, sent, replied, answered, late; 0: not, or not yet
}

// flowQuery says which entries a page has.
type flowQuery struct {
	from, skip int64
	limit      int
	filter     flow.Filter
	text       string // what entries must hold; empty: anything
	noStreams  bool   // pieces of a reply that arrives are left out
}

// flow is GET {base}/flow: what went where, joined into requests.
func (a *tracesAPI) flow(w http.ResponseWriter, r *http.Request, file traceFile) error {
	q, err := readFlowQuery(r)
	if err != nil {
		return err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	var page flowPage
	history := a.histories.of(file.CacheKey())
	err = history.read(r.Context(), file, func() error {
		var search *textSearch
		if q.text != "" {
			if search, err = history.search(r.Context(), file, q.text); err != nil {
				return err
			}
		}
		page = q.page(history.index, search)
		return nil
	})
	if err != nil {
		return err
	}
	page.Complete = file.complete
	answerJSON(w, http.StatusOK, page)
	return nil
}

func readFlowQuery(r *http.Request) (flowQuery, error) {
	p := readParameters(r, "from", "skip", "limit", "tx", "action", "cell", "hop", "late", "text", "streams")
	q := flowQuery{
		from: p.number("from", 1, 1, math.MaxInt64), skip: p.number("skip", 0, 0, math.MaxInt32),
		limit: int(p.number("limit", traceLimit, 1, traceMost)),
		filter: flow.Filter{
			Tx: p.text("tx"), Action: p.text("action"), Cell: p.text("cell"), Hop: readHop(p),
			Late: time.Duration(p.number("late", 0, 0, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		},
		text: p.text("text"), noStreams: p.oneOf("streams", "true", "false") == "false",
	}
	return q, p.err
}

// readHop reads the parameter hop; an empty one is none.
func readHop(p *parameters) trace.Hop {
	words := []string{""}
	for _, hop := range trace.Hops() {
		words = append(words, string(hop))
	}
	return trace.Hop(p.oneOf("hop", words...))
}

// page is the page of what an index has; search is of the query's text, nil: it
// has none.
func (q flowQuery) page(index *flow.Index, search *textSearch) flowPage {
	page := flowPage{Entries: []flowEntry{}, Requests: map[int64]flowRequest{}, Last: q.from - 1, End: index.Len()}
	if q.filter == (flow.Filter{}) && search == nil && !q.noStreams {
		q.all(&page, index)
	} else {
		q.picked(&page, index, search)
	}
	return page
}

// all takes entries one after the other.
func (q flowQuery) all(page *flowPage, index *flow.Index) {
	if q.from > page.End || q.skip > page.End-q.from {
		return
	}
	first := q.from + q.skip
	page.Last = min(first+int64(q.limit)-1, page.End)
	for seq := first; seq <= page.Last; seq++ {
		page.add(index, index.Frame(seq))
	}
	if page.Last < page.End {
		page.Next = new(page.Last + 1)
	}
}

// picked takes those that the filter picks, and counts all of these.
func (q flowQuery) picked(page *flowPage, index *flow.Index, search *textSearch) {
	count, hidden := int64(0), int64(0)
	for seq := int64(1); seq <= page.End; seq++ {
		frame := index.Frame(seq)
		if search != nil && !search.has(seq) || !q.filter.Match(frame) {
			continue
		}
		if q.noStreams && frame.Record.Note == "" && strings.HasPrefix(frame.Record.Type, streamPrefix) {
			hidden++
			if seq >= q.from && q.skip == 0 && page.Next == nil {
				page.know(frame) // it may have answered one that is shown
			}
			continue
		}
		count++
		switch {
		case seq < q.from:
		case q.skip > 0:
			q.skip--
		case len(page.Entries) < q.limit:
			page.add(index, frame)
		case page.Next == nil:
			page.Next = new(seq)
		}
	}
	page.Count = &count
	if q.noStreams {
		page.Hidden = &hidden
	}
	if page.Next != nil {
		page.Last = page.Entries[len(page.Entries)-1].Seq
	} else {
		page.Last = max(page.Last, page.End)
	}
}

func (p *flowPage) add(index *flow.Index, frame flow.Frame) {
	r := frame.Record
	entry := flowEntry{
		Seq: r.Seq, TNS: r.TNS, Hop: r.Hop, Conn: r.Conn, Type: r.Type, Action: r.Action, TxID: r.TxID, CellID: r.CellID,
		Bytes: r.Bytes, Note: r.Note, Ref: r.Ref, Cause: r.Cause, Label: index.Label(r.Seq),
	}
	for _, q := range frame.Requests {
		entry.Requests = append(entry.Requests, q.Asked.Seq)
	}
	p.know(frame)
	p.Entries = append(p.Entries, entry)
}

// know puts in the requests that a frame is part of.
func (p *flowPage) know(frame flow.Frame) {
	for _, q := range frame.Requests {
		if _, known := p.Requests[q.Asked.Seq]; !known {
			p.Requests[q.Asked.Seq] = newFlowRequest(q)
		}
	}
}

func newFlowRequest(q *flow.Request) flowRequest {
	seqs := []int64{q.Asked.Seq, q.Sent.Seq, q.Replied.Seq, q.Answered.Seq, q.Late.Seq}
	return flowRequest{Delay: q.Delay(), Text: q.String(), Seqs: seqs}
}
