package notebook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// widget is a widget as a context shows it.
type widget struct {
	Key   string          `json:"key"` // "<cell id>/<key>", as set_widget takes it
	Type  string          `json:"type"`
	Label string          `json:"label,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Widgets are the widgets of a cell, in the order in which they were made. As
// JSON they are an object, key to state.
type Widgets []Widget

// Widget is a widget as the kernel tells of it.
type Widget struct {
	Key   string          // absolute, "<cell id>/<key>"
	State json.RawMessage // an object, but for what a kernel of others may send
}

// MarshalJSON keeps the order, as a map would not.
func (w Widgets) MarshalJSON() ([]byte, error) {
	var out builder
	for _, widget := range w {
		out.raw(widget.Key, widget.State)
	}
	return out.done(), nil
}

// UnmarshalJSON is its reverse.
func (w *Widgets) UnmarshalJSON(text []byte) error {
	*w = nil
	return inOrder(text, func(key string, state json.RawMessage) {
		*w = append(*w, Widget{Key: key, State: slices.Clone(state)})
	})
}

func (w Widgets) index(key string) int {
	return slices.IndexFunc(w, func(widget Widget) bool { return widget.Key == key })
}

// cellWidgets replaces the widgets of a cell, of whose states MaxOutputBytes bytes
// are kept.
func (r *Executions) cellWidgets(_ int64, frame *reader) error {
	id, states := frame.id("cell_id"), frame.object("widget_state")
	if err := frame.err(); err != nil {
		return err
	}
	var kept Widgets
	room := r.cfg.MaxOutputBytes
	err := inOrder(frame.members["widget_state"], func(key string, state json.RawMessage) {
		if room -= len(key) + len(state); room >= 0 {
			kept = append(kept, Widget{Key: widgetKey(id, key), State: slices.Clone(state)})
		}
	})
	if err != nil {
		return err
	}
	if err := r.change(id, func(c *run) { c.widgets = kept }); err != nil {
		return err
	}
	if lost := len(states.members) - len(kept); lost > 0 {
		return fmt.Errorf("widget_state: %d of %d widgets are not kept, they have more than %d bytes", lost, len(states.members), r.cfg.MaxOutputBytes)
	}
	return nil
}

// widgetKey returns the absolute key of a widget: kernels may name it within
// its cell.
func widgetKey(cellID, key string) string {
	if strings.HasPrefix(key, cellID+"/") {
		return key
	}
	return cellID + "/" + key
}

// hasWidget tells whether a cell has the widget with an absolute key.
func (r *Executions) hasWidget(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if c.widgets.index(key) >= 0 {
			return true
		}
	}
	return false
}

// inContext returns widgets as a context shows them, sorted by key. What their
// states have beside it, or of another type, is left out.
func inContext(widgets Widgets) []widget {
	out := make([]widget, 0, len(widgets))
	for _, known := range slices.SortedFunc(slices.Values(widgets), func(a, b Widget) int { return cmp.Compare(a.Key, b.Key) }) {
		w := widget{Key: known.Key}
		if state, err := readMembers(known.State); err == nil {
			w.Type, _ = unquote(state["type"])
			w.Label, _ = unquote(state["label"])
			if len(state["value"]) <= contextWidget {
				w.Value = state["value"]
			}
		}
		out = append(out, w)
	}
	return out
}
