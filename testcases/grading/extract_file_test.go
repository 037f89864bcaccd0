package grading_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestExtractFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" \t\r\n{\"answer\": \"B\"}\n": `{'answer': 'B'}`,
		`0`:                            `0`,
		`""`:                           `''`,
		`NaN`:                          `nan`,
	} {
		got, err := grading.ExtractFile(text)
		require.NoError(t, err)
		require.Equal(t, want, pyvalue.Repr(got.Answer))
		require.Empty(t, got.Reason)
	}
	for text, want := range map[string]string{
		"null":                       "the file holds null",
		"":                           "the file is not JSON: line 1 column 1: expected a value, found the end; it begins:\n",
		"\ufeff{}":                   "the file is not JSON: line 1 column 1: expected a value, found ",
		"\u00a0{}":                   "the file is not JSON: line 1 column 1: expected a value, found ",
		"<EVAL_ANSWER>1":             "it begins:\n<EVAL_ANSWER>1",
		"{'a': 1}":                   "the file is not JSON: line 1 column 2: ",
		"\"\xff\"":                   "expected UTF-8",
		strings.Repeat("é", 1000):    "it begins:\n" + strings.Repeat("é", 500),
		"x\xed\xa0\x80" + "\xff end": "it begins:\nx\xed\xa0\x80\ufffd end",
	} {
		got, err := grading.ExtractFile(text)
		require.NoError(t, err)
		require.Nil(t, got.Answer)
		require.Contains(t, got.Reason, want)
		require.LessOrEqual(t, len([]rune(got.Reason)), 600)
	}
	for text, kind := range map[string]string{strings.Repeat("9", 4301): "value_error", strings.Repeat("[", 2000): "recursion_error"} {
		got, err := grading.ExtractFile(text)
		fault, ok := errors.AsType[*pyvalue.Error](err)
		require.True(t, ok)
		require.Equal(t, kind, fault.Kind)
		require.Nil(t, got.Answer)
		require.NotEmpty(t, got.Reason)
	}
}

// TestExtractMessages: numbers that JSON lacks raise where any number does.
func TestExtractMessages(t *testing.T) {
	t.Parallel()
	message := pyvalue.NewObject("type", pyvalue.String("anthropic_message"))
	message.Set("role", pyvalue.String("assistant"))
	message.Set("content", pyvaluetest.Decode(t, `NaN`))
	_, err := grading.ExtractMessages(pyvalue.List{message})
	require.ErrorContains(t, err, "type_error")

	message.Set("content", pyvaluetest.Decode(t, `[{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>7</EVAL_ANSWER>"}}]`))
	got, err := grading.ExtractMessages(pyvalue.List{pyvalue.Null{}, message, &pyvalue.Object{}})
	require.NoError(t, err)
	require.Equal(t, "7", pyvalue.Repr(got.Answer))
}
