package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
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

// cellWidgets replaces the widgets of a cell, of whose states TextLimit bytes
// are kept.
func (r *Runs) cellWidgets(_ int64, frame *reader) error {
	id, states := frame.id("cell_id"), frame.object("widget_state")
	if err := frame.err(); err != nil {
		return err
	}
	kept := map[string]json.RawMessage{}
	room := r.cfg.TextLimit
	for _, key := range slices.Sorted(maps.Keys(states.members)) {
		state := states.members[key]
		if room -= len(key) + len(state); room < 0 {
			break
		}
		kept[widgetKey(id, key)] = slices.Clone(state)
	}
	if err := r.change(id, func(c *run) { c.widgets = kept }); err != nil {
		return err
	}
	if lost := len(states.members) - len(kept); room < 0 {
		return fmt.Errorf("widget_state: %d of %d widgets are not kept, they have more than %d bytes", lost, len(states.members), r.cfg.TextLimit)
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
func (r *Runs) hasWidget(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if _, ok := c.widgets[key]; ok {
			return true
		}
	}
	return false
}

// inContext returns widgets as a context shows them, sorted by key. What their
// states have beside it, or of another type, is left out.
func inContext(states map[string]json.RawMessage) []widget {
	out := make([]widget, 0, len(states))
	for _, key := range slices.Sorted(maps.Keys(states)) {
		w := widget{Key: key}
		if state, err := readMembers(states[key]); err == nil {
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
