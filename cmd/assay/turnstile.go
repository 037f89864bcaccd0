package main

import (
	"errors"
	"fmt"

	"assay/internal/limiter"
)

// checkCalls finds what is wrong with the flags that are about the calls of the
// built-in agent's model.
func (f *hostFlags) checkCalls() error {
	switch {
	case f.modelCalls < 0:
		return fmt.Errorf("--max-model-calls %d: want at least 1, or 0 for no limit", f.modelCalls)
	case f.agent == "builtin":
		return nil
	case f.modelCalls > 0:
		return errors.New("--max-model-calls is for the built-in agent: what another asks its model is not seen")
	case f.builtin.record != "":
		return errors.New("--record is for the built-in agent: what another asks its model is not seen")
	}
	return nil
}

// admit makes the gate at which the agents' calls of the model wait for their
// turn, and tells them where it is.
func (h *host) admit() (err error) {
	if h.flags.modelCalls == 0 {
		return nil
	}
	h.flags.builtin.turnstile = h.private("model")
	h.gate, err = limiter.Listen(h.flags.builtin.turnstile, h.flags.modelCalls)
	return err
}

// shut closes the gate.
func (h *host) shut() error {
	if h.gate == nil {
		return nil
	}
	return h.gate.Close()
}
