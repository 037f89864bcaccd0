package model_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
)

func TestIsContextExceeded(t *testing.T) {
	t.Parallel()
	client := modeltest.ParseScript(t, `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 tokens"}}}}
{"error":{"status":413}}
{"error":{"status":400}}`).Client()
	for _, want := range []bool{true, true, false} {
		_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.Equal(t, want, model.IsContextExceeded(err), "%v", err)
	}
	require.False(t, model.IsContextExceeded(errors.New("prompt is too long")))
}
