package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
)

// clientFunc is a model that calls a function.
type clientFunc func(ctx context.Context) (*model.Response, error)

func (f clientFunc) Complete(ctx context.Context, _ model.Request, _ func(model.Delta)) (*model.Response, error) {
	return f(ctx)
}

// A judge's call takes the slot for which an agent's call then waits, and gives it back.
func TestJudgesTakeSlots(t *testing.T) {
	t.Parallel()
	slots := gateway.NewSlots(1)
	begun, finish, waiting := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	judge := slots.Limit(clientFunc(func(context.Context) (*model.Response, error) {
		close(begun)
		<-finish
		return &model.Response{}, nil
	}))
	judged := make(chan error)
	go func() {
		_, err := judge.Complete(t.Context(), model.Request{}, nil)
		judged <- err
	}()
	<-begun

	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run was interrupted"))
	_, err := judge.Complete(cancelled, model.Request{}, nil)
	require.EqualError(t, err, "the run was interrupted")

	g := startGateway(t, gateway.Config{Slots: slots, Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(messagesReply))
	}), Agent: gateway.Agent{OnEvent: func(e gateway.Event) {
		if e.Kind == gateway.WaitBegan {
			waiting <- struct{}{}
		}
	}}})
	var calls sync.WaitGroup
	calls.Go(func() {
		status, _, _ := g.call(t, "/v1/messages", messagesBody)
		assert.Equal(t, http.StatusOK, status)
	})
	<-waiting
	close(finish)
	require.NoError(t, <-judged)
	calls.Wait()
}
