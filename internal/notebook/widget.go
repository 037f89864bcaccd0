package notebook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// contextWidget is the JSON of a widget in the answer to get_context.
type contextWidget struct {
	Key   string          `json:"key"` // "<cell id>/<key>", as set_widget takes it
	Type  string          `json:"type"`
	Label string          `json:"label,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Widgets are the widgets of a cell in the order in which they were made. In JSON they are an
// object with each widget's state by its key.
type Widgets []Widget

// Widget is a widget of a cell: its key and its state as the kernel sends it.
type Widget struct {
	Key   string          // absolute: "<cell id>/<key>"
	State json.RawMessage // an object; a foreign kernel may send anything
}

// MarshalJSON encodes the widgets as a JSON object with each widget's state by its key, in
// order. It never fails.
func (w Widgets) MarshalJSON() ([]byte, error) {
	var out objectBuilder
	for _, widget := range w {
		out.addRawField(widget.Key, widget.State)
	}
	return out.finishObject(), nil
}

// UnmarshalJSON decodes a JSON object with each widget's state by its key. It fails if text is
// not one JSON object.
func (w *Widgets) UnmarshalJSON(text []byte) error {
	*w = nil
	return forEachLastMember(text, func(key string, state json.RawMessage) {
		*w = append(*w, Widget{Key: key, State: slices.Clone(state)})
	})
}

// indexOfKey returns the index of the widget with this absolute key, or -1 if there is none.
func (w Widgets) indexOfKey(key string) int {
	return slices.IndexFunc(w, func(widget Widget) bool { return widget.Key == key })
}

// applyCellWidgets processes a cell_widgets frame, which replaces the widgets of a cell. It
// keeps at most MaxOutputBytes of keys and states; the error says how many widgets were left
// out, or which field is wrong.
func (e *Executions) applyCellWidgets(_ int64, frame *objectReader) error {
	id, states := frame.nonEmptyText("cell_id"), frame.object("widget_state")
	if err := frame.err(); err != nil {
		return err
	}
	var kept Widgets
	room := e.cfg.MaxOutputBytes
	err := forEachLastMember(frame.members["widget_state"], func(key string, state json.RawMessage) {
		if room -= len(key) + len(state); room >= 0 {
			kept = append(kept, Widget{Key: absoluteWidgetKey(id, key), State: slices.Clone(state)})
		}
	})
	if err != nil {
		return err
	}
	if err := e.updateCell(id, func(c *cellExecution) { c.widgets = kept }); err != nil {
		return err
	}
	if lost := len(states.members) - len(kept); lost > 0 {
		return fmt.Errorf("widget_state: %d of %d widgets are not kept, they have more than %d bytes", lost, len(states.members), e.cfg.MaxOutputBytes)
	}
	return nil
}

// absoluteWidgetKey returns a widget's key in the form "<cell id>/<key>"; key may have that
// form already.
func absoluteWidgetKey(cellID, key string) string {
	if strings.HasPrefix(key, cellID+"/") {
		return key
	}
	return cellID + "/" + key
}

// hasWidget reports whether any cell has a widget with this absolute key, "<cell id>/<key>".
func (e *Executions) hasWidget(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cells {
		if c.widgets.indexOfKey(key) >= 0 {
			return true
		}
	}
	return false
}

// contextWidgets returns widgets as the answer to get_context has them, sorted by key. Of each
// state it takes type, label and value, if those have the right types and the value is not too
// large.
func contextWidgets(widgets Widgets) []contextWidget {
	out := make([]contextWidget, 0, len(widgets))
	for _, known := range slices.SortedFunc(slices.Values(widgets), func(a, b Widget) int { return cmp.Compare(a.Key, b.Key) }) {
		w := contextWidget{Key: known.Key}
		if state, err := readMembers(known.State); err == nil {
			w.Type, _ = unquoteString(state["type"])
			w.Label, _ = unquoteString(state["label"])
			if len(state["value"]) <= maxContextWidgetBytes {
				w.Value = state["value"]
			}
		}
		out = append(out, w)
	}
	return out
}
