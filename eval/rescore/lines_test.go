package rescore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
	"assay/testcases/grading"
)

// Members of input lines that name a grader.
const (
	choiceGrader  = `"grader":{"type":"multiple_choice","config":{"correct_answer":"B"}}`
	numericGrader = `"grader":{"type":"numeric_tolerance","config":{"ground_truth":{"n":10},"tolerances":{"n":{"value":1}}}}`
)

func TestGradeLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{
			`{"id":"a",` + choiceGrader + `,"answer":{"answer":"b"}}`,
			`{"id":"a","passed":true,"score":1.0,"metrics":{"correct_answers":["B"],"agent_answer":"B"},"reasoning":"Multiple choice: PASS\n\n+ answered 'b'","error":null}`,
		},
		{
			`{"id":{"x":[1,1.0]},` + numericGrader + `,"answer":{"n":12}}`,
			`{"id":{"x":[1,1.0]},"passed":false,"score":0.0,"metrics":{"n_actual":12,"n_expected":10,"n_error":2,"n_pass":false}`,
		},
		{
			`{` + numericGrader + `,"answer":{"n":{"$float":"NaN"}}}`,
			`{"id":null,"passed":false,"score":0.0,"metrics":{"n_actual":{"$float":"NaN"},`,
		},
		{`{"id":1,` + choiceGrader + `}`, `{"id":1,"passed":false,"score":0.0,"metrics":{},"reasoning":"Answer: FAIL`},
		{`{"id":2,` + choiceGrader + `,"answer":null}`, `{"id":2,"passed":false,"score":0.0,"metrics":{},"reasoning":"Answer: FAIL`},
		{`{"id":3,` + choiceGrader + `,"answer":7}`, `"error":{"kind":"type_error","text":"the answer: want an object, found integer"}}`},
		{`{"id":4,"graders":null,"extract":null,` + choiceGrader + `,"answer":{"answer":"C"}}`, `{"id":4,"passed":false,"score":0.0,"metrics":{"correct_answers":["B"],"agent_answer":"C"}`},
		{`{"id":5,"grader":{"type":"kernel_check","config":{"code":"1"}},"answer":1}`, `"error":{"kind":"kernel",`},
	} {
		out, faulty := gradeLines(t, c.line)
		require.Len(t, out, 1)
		require.Contains(t, out[0], c.want)
		require.Zero(t, faulty)
	}
}

func TestGradeLineWithSeveralGraders(t *testing.T) {
	t.Parallel()
	entries := `{"type":"multiple_choice","config":{"correct_answer":"C"}},{"type":"numeric_tolerance","config":{"ground_truth":{"n":1,"m":2}}}`
	out, faulty := gradeLines(t, `{"id":"x","graders":[`+entries+`],"answer":{"answer":"c","n":1,"m":5}}`)
	require.Zero(t, faulty)
	require.Contains(t, out[0], `{"id":"x","passed":false,"score":0.75,"metrics":{},"reasoning":"Multiple choice: PASS`)
	require.Contains(t, out[0], `"error":null,"graders":[{"type":"multiple_choice","passed":true,"score":1.0,`)
	require.Contains(t, out[0], `"field_scores":{"n":1.0,"m":0.0}}]}`)

	// Unusable entries do not prevent the others from grading.
	out, faulty = gradeLines(t, `{"graders":[7,{"config":{}},{"type":"multiple_choice","config":null},`+entries+`],"answer":{"answer":"C","n":1,"m":2}}`)
	require.Equal(t, 1, faulty)
	require.Contains(t, out[0], `{"id":null,"passed":false,"score":0.4,`)
	require.Contains(t, out[0], `"error":{"kind":"input","text":"graders[0]: want an object`)
	require.Contains(t, out[0], `"kind":"unknown_grader"`)
	require.Contains(t, out[0], `"error":{"kind":"type_error","text":"field graders[2].config: want an object, found null"}`)
}

// An input line that cannot be graded gets an error and is counted as faulty.
func TestFaultyLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{`:                              `"error":{"kind":"input","text":"line 1 column 2: expected a key in double quotes, found the end"}}`,
		"\ufeff{}":                       `line 1 column 1: expected a value, found`,
		"{\"id\": \"\xff\"}":             `line 1 column 9: expected UTF-8`,
		"\v":                             `line 1 column 1: expected a value`,
		`[1]`:                            `"text":"line 1: want an object, found list"}}`,
		`{"$float":"NaN"}`:               `"text":"line 1: want an object, found`,
		`{"id":"a"}`:                     `{"id":"a","passed":false,"score":0.0,"metrics":{},"reasoning":"could not be graded: want one of grader, graders and extract","error":{"kind":"input",`,
		`{"id":"a","grader":0}`:          `"text":"grader: want an object {type, config}, found integer"}}`,
		`{"grader":"exact","config":{}}`: `"text":"grader: want an object {type, config}, found string"}}`,
		`{"grader":{},"graders":[]}`:     `want one of grader, graders and extract`,
		`{"graders":[]}`:                 `"text":"graders: want a list of at least one, found list"},"graders":[]}`,
		`{"graders":{}}`:                 `"text":"graders: want a list of at least one, found object"},"graders":[]}`,
		`{"grader":{"type":"Exact"}}`:    `"error":{"kind":"unknown_grader",`,
		`{"grader":{"type":7}}`:          `"error":{"kind":"unknown_grader",`,
		`{"answer":{},"grader":{"type":"multiple_choice","config":null}}`: `"error":{"kind":"type_error","text":"field grader.config: want an object, found null"}}`,
		`{"extract":"summary","grader":{}}`:                               `{"id":null,"found":false,"extracted":null,"error":{"kind":"input","text":"want one of grader, graders and extract"}}`,
		`{"extract":"mail","answer":""}`:                                  `extract: want summary, conversation or eval_answer_file, found mail`,
		`{"extract":3}`:                                                   `extract: want summary, conversation or eval_answer_file, found 3`,
		`{"id":9,"extract":"summary","answer":[]}`:                        `{"id":9,"found":false,"extracted":null,"error":{"kind":"input","text":"answer: want a string, the summary of a submission, found list"}}`,
		`{"extract":"conversation","answer":"text"}`:                      `answer: want a list of messages, found string`,
		`{"extract":"eval_answer_file","answer":{}}`:                      `answer: want a string, the text of the file, found object`,
		strings.Repeat("[", 100_000):                                      `"error":{"kind":"input","text":"line 1: recursion_error: JSON nested deeper than 990 levels"}}`,
		strings.Repeat("9", 5000):                                         `"text":"line 1: value_error: an integer of 5000 digits, more than 4300"}}`,
	} {
		out, faulty := gradeLines(t, line)
		require.Len(t, out, 1, line)
		require.Contains(t, out[0], want)
		require.Equal(t, 1, faulty, line)
	}
}

func TestExtractAnswer(t *testing.T) {
	t.Parallel()
	message := func(input string) string {
		return `{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","name":"submit_response","input":` + input + `}]}`
	}
	for _, c := range []struct{ line, want string }{
		{`{"id":1,"extract":"summary","answer":"<EVAL_ANSWER> {\"n\":NaN} </EVAL_ANSWER>"}`, `{"id":1,"found":true,"extracted":{"n":{"$float":"NaN"}},"error":null}`},
		{`{"id":2,"extract":"summary","answer":"done"}`, `{"id":2,"found":false,"extracted":null,"error":null,"reason":"no submission has <EVAL_ANSWER> tags"}`},
		{`{"id":3,"extract":"summary","answer":"<EVAL_ANSWER>null</EVAL_ANSWER>"}`, `{"id":3,"found":false,"extracted":null,"error":null,"reason":"what is between`},
		{`{"id":4,"extract":"summary","answer":"<EVAL_ANSWER>` + strings.Repeat("9", 4301) + `</EVAL_ANSWER>"}`, `{"id":4,"found":false,"extracted":null,"error":{"kind":"value_error",`},
		{`{"id":5,"extract":"summary"}`, `{"id":5,"found":false,"extracted":null,"error":null,"reason":"nothing was submitted"}`},
		{`{"id":6,"extract":"conversation","answer":[` + message(`{"summary":"<EVAL_ANSWER>[1,1.0]</EVAL_ANSWER>"}`) + `,{"type":"user"}]}`, `{"id":6,"found":true,"extracted":[1,1.0],"error":null}`},
		{`{"id":7,"extract":"conversation","answer":[` + message(`null`) + `]}`, `{"id":7,"found":false,"extracted":null,"error":{"kind":"type_error",`},
		{`{"id":8,"extract":"conversation","answer":[NaN]}`, `"error":{"kind":"type_error","text":"an entry of the conversation: want an object, found number"}`},
		{`{"id":9,"extract":"conversation"}`, `{"id":9,"found":false,"extracted":null,"error":null,"reason":"nothing was submitted"}`},
		{`{"id":10,"extract":"eval_answer_file","answer":" {\"a\": 1}\n"}`, `{"id":10,"found":true,"extracted":{"a":1},"error":null}`},
		{`{"id":11,"extract":"eval_answer_file","answer":"oops"}`, `{"id":11,"found":false,"extracted":null,"error":null,"reason":"the file is not JSON: line 1 column 1: expected a value, found 'o'; it begins:\noops"}`},
		{`{"id":12,"extract":"eval_answer_file"}`, `"reason":"nothing was submitted"}`},
	} {
		out, faulty := gradeLines(t, c.line)
		require.Len(t, out, 1)
		require.Contains(t, out[0], c.want)
		require.Zero(t, faulty)
	}
}

// Output lines are in the order of the input lines; blank lines are skipped, and the last line
// needs no newline.
func TestGradeAnswerLinesKeepsOrder(t *testing.T) {
	t.Parallel()
	var in, want strings.Builder
	for i := range 5000 {
		end := []string{"\n", "\r\n", "\n \t\r\n\n"}[i%3]
		fmt.Fprintf(&in, `{"id":%d,%s,"answer":{"answer":"B","pad":"%s"}}%s`, i, choiceGrader, strings.Repeat("x", i*37%3000), end)
		fmt.Fprintf(&want, "%d\n", i)
	}
	in.WriteString(`{"id":5000,"extract":"summary","answer":""}`)
	want.WriteString("5000\n")
	var out bytes.Buffer
	faulty, err := rescore.GradeAnswerLines(t.Context(), strings.NewReader(in.String()), &out, grading.Input{})
	require.NoError(t, err)
	require.Zero(t, faulty)
	var ids strings.Builder
	for line := range strings.Lines(out.String()) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"id":`), ",")
		ids.WriteString(id + "\n")
	}
	require.Equal(t, want.String(), ids.String())
}

func TestGradeAnswerLinesOfBlankInput(t *testing.T) {
	t.Parallel()
	out, faulty := gradeLines(t, "", " ", "\t\r")
	require.Empty(t, out)
	require.Zero(t, faulty)
}

// The output line is written before the next input line is sent.
func TestGradeAnswerLinesFlushesWhileWaiting(t *testing.T) {
	t.Parallel()
	in, writer := io.Pipe()
	reader, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := rescore.GradeAnswerLines(t.Context(), in, out, grading.Input{})
		done <- errors.Join(err, out.Close())
	}()
	for i := range 3 {
		_, err := fmt.Fprintf(writer, `{"id":%d,%s,"answer":{"answer":"B"}}`+"\n", i, choiceGrader)
		require.NoError(t, err)
		answer := make([]byte, 4096)
		n, err := reader.Read(answer)
		require.NoError(t, err)
		require.Contains(t, string(answer[:n]), fmt.Sprintf(`{"id":%d,"passed":true`, i))
	}
	require.NoError(t, writer.Close())
	_, err := reader.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-done)
}

// endlessReader is a reader that yields the same line again and again, without end.
type endlessReader struct{ line []byte }

func (e endlessReader) Read(p []byte) (int, error) { return copy(p, e.line), nil }

// errDiskFull is the error that failingWriter and failingReader return.
var errDiskFull = errors.New("no space left")

// failingWriter is a writer whose Write always fails.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDiskFull }

func TestGradeAnswerLinesFails(t *testing.T) {
	t.Parallel()
	lines := endlessReader{[]byte(`{"extract":"summary","answer":""}` + "\n")}
	_, err := rescore.GradeAnswerLines(t.Context(), lines, failingWriter{}, grading.Input{})
	require.ErrorIs(t, err, errDiskFull)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = rescore.GradeAnswerLines(ctx, lines, writerFromFunc(func(p []byte) (int, error) { cancel(cause); return len(p), nil }), grading.Input{})
	require.ErrorIs(t, err, cause)

	// An error of the input comes after the answers to the lines before it.
	var out bytes.Buffer
	broken := io.MultiReader(strings.NewReader(`{"extract":"summary"}`+"\n"), io.LimitReader(lines, 10), failingReader{})
	_, err = rescore.GradeAnswerLines(t.Context(), broken, &out, grading.Input{})
	require.ErrorIs(t, err, errDiskFull)
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
}

// failingReader is a reader whose Read always fails.
type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errDiskFull }

// writerFromFunc makes a function an io.Writer.
type writerFromFunc func([]byte) (int, error)

func (f writerFromFunc) Write(p []byte) (int, error) { return f(p) }
