package rescore

import (
	"bufio"
	"context"
	"io"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// The memory that a line takes while it is graded: the parsed values take up to forty times the
// length of the text.
const (
	lineMemoryBytes         = 4 << 10
	memoryBytesPerInputByte = 40
)

// GradeAnswerLines grades the lines of in, several at once, and writes a line to out for each that is
// not blank, in the same order and as soon as possible. A line of in has one of these forms:
//
//	{"id", "grader": {"type", "config"}, "answer"}
//	{"id", "graders": [{"type", "config"}, …], "answer"}
//	{"id", "extract": "summary" | "conversation" | "eval_answer_file", "answer"}
//
// in the dialect of [pyvalue.Decode], with [pyvalue.RestoreNonFiniteFloats]. Other members are ignored,
// and null counts as absent, except as an answer to extract from. The lines of out have these
// forms:
//
//	{"id", "passed", "score", "metrics", "reasoning", "error", "field_scores"?, "graders"?}
//	{"id", "found", "extracted", "error", "reason"?}
//
// base has the graders' input that is the same for all lines; its answer is not used.
//
// Every line is answered. A line that cannot be parsed gets an error of kind "input"; one that
// names an unknown grader, or gives it a config that is not an object, gets that grader's error.
// faulty is the number of such lines. GradeAnswerLines fails if reading in or writing out fails, and
// with the cause of ctx. When ctx ends, a Read of in that has begun is still waited for.
func GradeAnswerLines(ctx context.Context, in io.Reader, out io.Writer, base grading.Input) (faulty int, err error) {
	lines := newLineReader(in)
	buffered := bufio.NewWriterSize(out, 64<<10)
	next := func() (pipelineTask[outputLine], error) {
		l, err := lines.nextLine()
		return pipelineTask[outputLine]{
			memoryBytes: memoryBytesPerInputByte*int64(len(l.text)) + lineMemoryBytes,
			run:         func(ctx context.Context) outputLine { return gradeOrExtractLine(ctx, l, base) },
		}, err
	}
	consume := func(r outputLine) error {
		if r.isFaulty {
			faulty++
		}
		_, err := buffered.Write(append(r.text, '\n'))
		return err
	}
	if err := runTasksInOrder(ctx, next, resultConsumer[outputLine]{consume: consume, onIdle: buffered.Flush}); err != nil {
		_ = buffered.Flush() // err came first and is returned; the lines graded so far are still written
		return faulty, err
	}
	return faulty, buffered.Flush()
}

// outputLine is one line of the output of GradeAnswerLines.
type outputLine struct {
	text     []byte // without newline
	isFaulty bool   // the input line could not be used
}

// gradeOrExtractLine grades, or extracts from, one input line and returns the output line.
func gradeOrExtractLine(ctx context.Context, l inputLine, base grading.Input) outputLine {
	o, isFaulty := gradeOrExtract(ctx, l, base)
	text, err := o.MarshalJSON()
	if err != nil { // cannot happen: every Value has JSON
		panic(err)
	}
	return outputLine{text: text, isFaulty: isFaulty}
}

// gradeOrExtract returns the output line for an input line as an object. isFaulty is true if
// the input line cannot be used.
func gradeOrExtract(ctx context.Context, l inputLine, base grading.Input) (answer *pyvalue.Object, isFaulty bool) {
	object, fault := l.parse()
	if fault != nil {
		return singleGraderOutputLine(nil, inputErrorResult(fault)), true
	}
	id := object.Get("id")
	if isAbsentOrNull(object.Get("extract")) {
		return gradeLine(ctx, id, object, base)
	}
	return extractAnswer(id, object)
}
