package jupyter

import (
	"fmt"

	"assay/internal/protocol"
)

// handle takes in a message of the server. What cannot be followed is answered
// with an error, and changes nothing.
func (a *adapter) handle(body []byte) {
	request, err := parseAsked(body)
	if err == nil {
		err = a.dispatch(request)
	}
	if err != nil {
		a.out.send(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: err.Error()}})
	}
}

func (a *adapter) dispatch(ask asked) error {
	switch ask.Type {
	case protocol.TypeInit:
		return nil // nothing in it is for a kernel without widgets
	case protocol.TypeRunCell:
		return a.runCell(ask)
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		return a.stopAsked(ask)
	case protocol.TypeExecuteCode:
		return a.executeCode(ask)
	case protocol.TypeResetGlobals:
		a.add(&reset{out: a.out, ask: ask})
	case protocol.TypeGlobalsSummary:
		a.summarise(ask, ask.answer)
	case protocol.TypeGetGlobalInfo:
		return a.globalInfo(ask)
	case protocol.TypeReactivitySummary:
		a.out.send(ask.answer(ask.Type, reactivity()))
	case protocol.TypeSetWidgetValue:
		a.out.send(setWidgets(ask))
	case protocol.TypeAgentAction:
		return a.action(ask)
	case protocol.TypeDebugState:
		a.out.send(ask.answer(ask.Type, fields{"data": a.state()}))
	case "ping":
		a.out.send(ask.answer("pong", nil))
	default:
		return fmt.Errorf("unknown message type %q", ask.Type)
	}
	return nil
}

func (a *adapter) runCell(ask asked) error {
	id, err := ask.cell()
	if err != nil {
		return err
	}
	code, err := ask.source()
	if err != nil {
		return err
	}
	a.add(&cell{out: a.out, id: id, code: code})
	return nil
}

func (a *adapter) executeCode(ask asked) error {
	code, err := ask.source()
	if err != nil {
		return err
	}
	a.add(&snippet{out: a.out, ask: ask, code: code})
	return nil
}

func (a *adapter) add(w work) { a.schedule.add(w, a.run.work == nil) }

// stopAsked stops a cell, or, by its id, an execute_code, waiting or running.
func (a *adapter) stopAsked(ask asked) error {
	matches := func(w work) bool {
		s, ok := w.(*snippet)
		return ok && s.ask.id() == ask.id()
	}
	if ask.CellID != nil || ask.id() == "" {
		id, err := ask.cell()
		if err != nil {
			return err
		}
		matches = func(w work) bool {
			c, ok := w.(*cell)
			return ok && c.id == id
		}
	}
	a.schedule.drop(matches)
	if matches(a.run.work) {
		a.stop()
	}
	return nil
}

// state is what debug_state tells.
func (a *adapter) state() fields {
	state := fields{
		"kernelspec": a.spec.Name, "queue": a.schedule.queue(), "waiting": len(a.schedule.waiting),
		"run_sequencer": a.schedule.sequencer, "running": []string{},
	}
	if a.kernel != nil {
		state["pid"] = a.kernel.process.pid()
	}
	switch w := a.run.work.(type) {
	case *cell:
		state["running"] = []string{w.id}
	case *snippet:
		state["running"] = []string{w.ask.id()}
	}
	return state
}

// setWidgets is the answer to a set_widget_value: no key is one of a widget.
func setWidgets(ask asked) fields {
	status, errors := protocol.StatusSuccess, map[string]string{}
	for key := range ask.Data {
		status, errors[key] = protocol.StatusError, "there is no such widget"
	}
	return ask.answer("set_widget_value_response", fields{"status": status, "errors": errors})
}
