package grading_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// assistantEntry returns the JSON of a conversation entry with a message of the
// assistant with these blocks.
func assistantEntry(blocks ...string) string {
	return `{"type": "anthropic_message", "role": "assistant", "content": [` + strings.Join(blocks, ", ") + `]}`
}

func submissionBlock(summary string) string {
	text, _ := json.Marshal(summary)
	return fmt.Sprintf(`{"type": "tool_use", "name": "submit_response", "input": {"summary": %s, "next_status": "done"}}`, text)
}

// The answer between the tags of a submission is extracted. In the rows, want is the
// answer as JSON, "none", or the kind of the error.
func TestExtractAnswer(t *testing.T) {
	t.Parallel()
	one := submissionBlock(`<EVAL_ANSWER>{"n": 1}</EVAL_ANSWER>`)
	two := submissionBlock("done\n<EVAL_ANSWER>\n\u00a0{\"n\": 2}\u2003\n</EVAL_ANSWER> [EVAL_COMPLETE]")
	bad := submissionBlock(`<EVAL_ANSWER>{"n": 3,}</EVAL_ANSWER>`)
	tagless := submissionBlock(`all done`)
	for name, c := range map[string]struct {
		history []string
		want    string
	}{
		"nothing":                          {nil, "none"},
		"one":                              {[]string{assistantEntry(one)}, `{"n":1}`},
		"spaces are trimmed":               {[]string{assistantEntry(two)}, `{"n":2}`},
		"the last message wins":            {[]string{assistantEntry(one), assistantEntry(two)}, `{"n":2}`},
		"the first block wins":             {[]string{assistantEntry(one, two)}, `{"n":1}`},
		"without tags the next block":      {[]string{assistantEntry(tagless, two)}, `{"n":2}`},
		"without tags the message before":  {[]string{assistantEntry(one), assistantEntry(tagless)}, `{"n":1}`},
		"bad JSON ends the search":         {[]string{assistantEntry(one), assistantEntry(bad, two)}, "none"},
		"the first tags decide":            {[]string{assistantEntry(submissionBlock(`say <EVAL_ANSWER></EVAL_ANSWER>: <EVAL_ANSWER>1</EVAL_ANSWER>`))}, "none"},
		"a stray opening tag swallows":     {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER> and <EVAL_ANSWER>1</EVAL_ANSWER>`))}, "none"},
		"a stray closing tag does not":     {[]string{assistantEntry(submissionBlock(`</EVAL_ANSWER><EVAL_ANSWER>1</EVAL_ANSWER>`))}, `1`},
		"a closing tag in a string":        {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>"</EVAL_ANSWER>"</EVAL_ANSWER>`))}, "none"},
		"tags in lower case":               {[]string{assistantEntry(submissionBlock(`<eval_answer>1</eval_answer>`))}, "none"},
		"tags with a space":                {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER >1</EVAL_ANSWER>`))}, "none"},
		"fences around":                    {[]string{assistantEntry(submissionBlock("```\n<EVAL_ANSWER>1</EVAL_ANSWER>\n```"))}, `1`},
		"fences inside":                    {[]string{assistantEntry(submissionBlock("<EVAL_ANSWER>```json\n1\n```</EVAL_ANSWER>"))}, "none"},
		"null is no answer":                {[]string{assistantEntry(one), assistantEntry(submissionBlock(`<EVAL_ANSWER>null</EVAL_ANSWER>`))}, "none"},
		"0":                                {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>0</EVAL_ANSWER>`))}, `0`},
		"false":                            {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>false</EVAL_ANSWER>`))}, `false`},
		"empty string":                     {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>""</EVAL_ANSWER>`))}, `""`},
		"empty list":                       {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>[]</EVAL_ANSWER>`))}, `[]`},
		"NaN":                              {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>NaN</EVAL_ANSWER>`))}, `{"$float":"NaN"}`},
		"empty":                            {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER> </EVAL_ANSWER>`))}, "none"},
		"lone surrogate":                   {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>\"\ud800\"</EVAL_ANSWER>"}}`)}, `"\ud800"`},
		"next_status is not looked at":     {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>1</EVAL_ANSWER>", "next_status": "thinking"}}`)}, `1`},
		"over MCP":                         {[]string{assistantEntry(strings.ReplaceAll(one, "submit_response", "mcp__assay__submit_response"))}, `{"n":1}`},
		"another tool that ends like it":   {[]string{assistantEntry(strings.ReplaceAll(one, "submit_response", "not_submit_response"))}, "none"},
		"another tool":                     {[]string{assistantEntry(strings.ReplaceAll(one, "submit_response", "create_cell"))}, "none"},
		"text":                             {[]string{assistantEntry(`{"type": "text", "text": "<EVAL_ANSWER>1</EVAL_ANSWER>"}`)}, "none"},
		"thinking":                         {[]string{assistantEntry(`{"type": "thinking", "thinking": "<EVAL_ANSWER>1</EVAL_ANSWER>"}`)}, "none"},
		"another field":                    {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": {"plan": "<EVAL_ANSWER>1</EVAL_ANSWER>"}}`)}, "none"},
		"a user says it":                   {[]string{strings.Replace(assistantEntry(one), "assistant", "user", 1)}, "none"},
		"another type of entry":            {[]string{strings.Replace(assistantEntry(one), "anthropic_message", "note", 1)}, "none"},
		"no type":                          {[]string{`{"role": "assistant", "content": [` + one + `]}`}, "none"},
		"agent_result":                     {[]string{assistantEntry(one), `{"type": "agent_result", "structured_output": {"summary": "<EVAL_ANSWER>4</EVAL_ANSWER>"}}`}, `4`},
		"agent_result without output":      {[]string{assistantEntry(one), `{"type": "agent_result"}`}, `{"n":1}`},
		"content is text":                  {[]string{assistantEntry(one), `{"type": "anthropic_message", "role": "assistant", "content": "<EVAL_ANSWER>1</EVAL_ANSWER>"}`}, `{"n":1}`},
		"content is an object":             {[]string{`{"type": "anthropic_message", "role": "assistant", "content": {"a": 1}}`}, "none"},
		"content missing":                  {[]string{`{"type": "anthropic_message", "role": "assistant"}`}, "none"},
		"blocks that are no objects":       {[]string{assistantEntry(`"submit_response"`, `1`, `null`, one)}, `{"n":1}`},
		"no input":                         {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response"}`, two)}, `{"n":2}`},
		"no summary":                       {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": {}}`)}, "none"},
		"content null":                     {[]string{assistantEntry(one), `{"type": "anthropic_message", "role": "assistant", "content": null}`}, "type_error"},
		"content null, of a user":          {[]string{assistantEntry(one), `{"type": "anthropic_message", "role": "user", "content": null}`}, `{"n":1}`},
		"content a number":                 {[]string{`{"type": "anthropic_message", "role": "assistant", "content": 5}`}, "type_error"},
		"input null":                       {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": null}`)}, "type_error"},
		"input a list":                     {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": []}`)}, "type_error"},
		"summary null":                     {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": {"summary": null}}`)}, "type_error"},
		"wrong input after the answer":     {[]string{assistantEntry(one, `{"type": "tool_use", "name": "submit_response", "input": null}`)}, `{"n":1}`},
		"wrong input before the answer":    {[]string{assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": null}`, one)}, "type_error"},
		"a message that is not an object":  {[]string{assistantEntry(one), `["x"]`}, "type_error"},
		"a message that is not looked at":  {[]string{`["x"]`, assistantEntry(one)}, `{"n":1}`},
		"a message that is no JSON":        {[]string{assistantEntry(one), `{`}, "value_error"},
		"an integer of too many digits":    {[]string{assistantEntry(one), assistantEntry(submissionBlock(`<EVAL_ANSWER>` + strings.Repeat("1", 4301) + `</EVAL_ANSWER>`))}, "value_error"},
		"nested too deep":                  {[]string{assistantEntry(one), assistantEntry(submissionBlock(`<EVAL_ANSWER>` + strings.Repeat("[", 2000) + `</EVAL_ANSWER>`))}, "recursion_error"},
		"an integer that is exact":         {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>` + strings.Repeat("1", 4300) + `</EVAL_ANSWER>`))}, strings.Repeat("1", 4300)},
		"placeholders are not filled in":   {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>{"answer": <letter>}</EVAL_ANSWER>`))}, "none"},
		"anything is returned as it is":    {[]string{assistantEntry(submissionBlock(`<EVAL_ANSWER>{"answer": {"answer": 1}}</EVAL_ANSWER>`))}, `{"answer":{"answer":1}}`},
		"only an opening tag, then before": {[]string{assistantEntry(one), assistantEntry(submissionBlock(`<EVAL_ANSWER>2`))}, `{"n":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var history []json.RawMessage
			for _, e := range c.history {
				history = append(history, json.RawMessage(e))
			}
			got, err := grading.ExtractAnswer(history)
			var kind *pyvalue.Error
			switch {
			case err != nil:
				require.ErrorAs(t, err, &kind)
				require.Equal(t, c.want, kind.Kind)
				require.Nil(t, got.Answer)
			case got.Answer == nil:
				require.Equal(t, c.want, "none")
				require.NotEmpty(t, got.Reason)
			default:
				require.Equal(t, c.want, pyvaluetest.MarshalToString(t, got.Answer))
				require.Empty(t, got.Reason)
			}
		})
	}
}

func TestExtractReasons(t *testing.T) {
	t.Parallel()
	got, err := grading.ExtractAnswerFromSummary("<EVAL_ANSWER>\n{\"n\": 3,}\n</EVAL_ANSWER>")
	require.NoError(t, err)
	require.Equal(t, "what is between the <EVAL_ANSWER> tags is not JSON: line 1 column 9: expected a key in double quotes, found '}'", got.Reason)

	most := `"` + strings.Repeat("x", 1<<20-2) + `"`
	got, err = grading.ExtractAnswerFromSummary("<EVAL_ANSWER>" + most + "</EVAL_ANSWER>")
	require.NoError(t, err)
	require.NotNil(t, got.Answer)
	got, err = grading.ExtractAnswerFromSummary("<EVAL_ANSWER>" + most + " </EVAL_ANSWER>")
	require.NoError(t, err)
	require.Nil(t, got.Answer)
	require.Equal(t, "what is between the <EVAL_ANSWER> tags has 1048577 bytes: at most 1 MiB is read", got.Reason)
}

func FuzzExtract(f *testing.F) {
	f.Add(assistantEntry(submissionBlock(`<EVAL_ANSWER>{"n": 1}</EVAL_ANSWER>`)))
	f.Add(assistantEntry(`{"type": "tool_use", "name": "submit_response", "input": null}`))
	f.Add(`{"type": "agent_result", "structured_output": {"summary": "<EVAL_ANSWER>[]</EVAL_ANSWER>"}}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := grading.ExtractAnswer([]json.RawMessage{json.RawMessage(text)})
		require.Equal(t, got.Answer == nil, got.Reason != "")
		if err != nil {
			require.Nil(t, got.Answer)
		}
		_, _ = grading.ExtractAnswerFromSummary(text)
	})
}

func TestExtractAnswerFromFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" \t\r\n{\"answer\": \"B\"}\n": `{'answer': 'B'}`,
		`0`:                            `0`,
		`""`:                           `''`,
		`NaN`:                          `nan`,
	} {
		got, err := grading.ExtractAnswerFromFile(text)
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
		got, err := grading.ExtractAnswerFromFile(text)
		require.NoError(t, err)
		require.Nil(t, got.Answer)
		require.Contains(t, got.Reason, want)
		require.LessOrEqual(t, len([]rune(got.Reason)), 600)
	}
	for text, kind := range map[string]string{strings.Repeat("9", 4301): "value_error", strings.Repeat("[", 2000): "recursion_error"} {
		got, err := grading.ExtractAnswerFromFile(text)
		fault, ok := errors.AsType[*pyvalue.Error](err)
		require.True(t, ok)
		require.Equal(t, kind, fault.Kind)
		require.Nil(t, got.Answer)
		require.NotEmpty(t, got.Reason)
	}
}

// Integers that exceed Python's limit of 4300 digits are an error in each extraction
// function.
func TestExtractAnswerFromMessages(t *testing.T) {
	t.Parallel()
	message := pyvalue.NewObject("type", pyvalue.String("anthropic_message"))
	message.Set("role", pyvalue.String("assistant"))
	message.Set("content", pyvaluetest.MustDecode(t, `NaN`))
	_, err := grading.ExtractAnswerFromMessages(pyvalue.List{message})
	require.ErrorContains(t, err, "type_error")

	message.Set("content", pyvaluetest.MustDecode(t, `[{"type": "tool_use", "name": "submit_response", "input": {"summary": "<EVAL_ANSWER>7</EVAL_ANSWER>"}}]`))
	got, err := grading.ExtractAnswerFromMessages(pyvalue.List{pyvalue.Null{}, message, &pyvalue.Object{}})
	require.NoError(t, err)
	require.Equal(t, "7", pyvalue.Repr(got.Answer))
}
