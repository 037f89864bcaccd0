package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
)

// strategy turns queries into calls of the model and of the notebook.
type strategy interface {
	// dispatch is called with each query as it arrives, in their order, and does
	// not wait. Evaluation tells whether it is one of an evaluation: core.evalMode
	// is that of the query which is worked on.
	dispatch(query protocol.AgentQuery, evaluation bool) task

	// conversations lists those that there are. It is called while no task runs.
	conversations() []*conversation

	// forget drops all that was said. It is called while no task runs.
	forget()
}

// task is the work on one query. Tasks of one conversation run one after the
// other, those of several side by side.
type task struct {
	conversation *conversation

	// run works on the query and returns the status that ends the agent's turn:
	// done, or what it waits for. Its error is a [limitError], errDeclined, the
	// cause of ctx, or a failure of the model.
	run func(ctx context.Context) (status string, err error)
}

// makers are the strategies by name.
func makers() map[string]func(*core) (strategy, error) {
	return map[string]func(*core) (strategy, error){
		"blocks": newBlocks,
		"ticks":  newTicks,
		"tools":  newTools,
	}
}

// Strategies names the strategies that there are.
func Strategies() []string {
	return []string{"tools", "blocks", "ticks"}
}

// CheckStrategy says whether there is a strategy of that name.
func CheckStrategy(name string) error {
	if slices.Contains(Strategies(), name) {
		return nil
	}
	return fmt.Errorf("unknown strategy %q: known are %s", name, strings.Join(Strategies(), ", "))
}

// single is a strategy with one conversation.
type single struct {
	conversation *conversation
	answer       func(ctx context.Context, query protocol.AgentQuery) (status string, err error)
}

func (s *single) dispatch(query protocol.AgentQuery, _ bool) task {
	return task{s.conversation, func(ctx context.Context) (string, error) { return s.answer(ctx, query) }}
}

func (s *single) conversations() []*conversation { return []*conversation{s.conversation} }

func (s *single) forget() { s.conversation.clear() }
