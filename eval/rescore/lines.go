package rescore

import (
	"bufio"
	"context"
	"io"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// A line costs so many bytes, and for each byte of its text so many more: the
// values that it is made into take up to forty times its length.
const (
	lineMemoryBytes         = 4 << 10
	memoryBytesPerInputByte = 40
)

// GradeLines grades the lines of in, several at once, and writes to out a line for
// each that is not blank, in their order and as soon as it is known. A line of in
// is one of
//
//	{"id", "grader": {"type", "config"}, "answer"}
//	{"id", "graders": [{"type", "config"}, …], "answer"}
//	{"id", "extract": "summary" | "conversation" | "eval_answer_file", "answer"}
//
// in the dialect of [pyvalue.Decode], with [pyvalue.RestoreFloats]; other members
// are ignored, and null is as good as none, except as an answer to extract from.
// The lines of out are
//
//	{"id", "passed", "score", "metrics", "reasoning", "error", "field_scores"?, "graders"?}
//	{"id", "found", "extracted", "error", "reason"?}
//
// have is what all lines have in common; the answer in it is not used.
//
// Whatever a line holds, it is answered: one that cannot be read with an error of
// kind "input", one that names a grader that does not exist, or gives it a config
// that is no object, with that of the result; such lines are counted. The error
// says that in or out failed, or is the cause of ctx. A Read of in that
// lasts is waited for when ctx ends.
func GradeLines(ctx context.Context, in io.Reader, out io.Writer, have grading.Input) (faulty int, err error) {
	lines := newLineReader(in)
	buffered := bufio.NewWriterSize(out, 64<<10)
	next := func() (task[outputLine], error) {
		l, err := lines.nextLine()
		return task[outputLine]{
			memoryBytes: memoryBytesPerInputByte*int64(len(l.text)) + lineMemoryBytes,
			run:         func(ctx context.Context) outputLine { return processLine(ctx, l, have) },
		}, err
	}
	take := func(r outputLine) error {
		if r.isFaulty {
			faulty++
		}
		_, err := buffered.Write(append(r.text, '\n'))
		return err
	}
	if err := processInOrder(ctx, next, consumer[outputLine]{consume: take, onIdle: buffered.Flush}); err != nil {
		_ = buffered.Flush() // what was graded is worth having; err came first
		return faulty, err
	}
	return faulty, buffered.Flush()
}

// outputLine is a line of the output.
type outputLine struct {
	text     []byte // without its end
	isFaulty bool
}

func processLine(ctx context.Context, l inputLine, have grading.Input) outputLine {
	o, faulty := gradeOrExtract(ctx, l, have)
	text, err := o.MarshalJSON()
	if err != nil { // no Value has one
		panic(err)
	}
	return outputLine{text: text, isFaulty: faulty}
}

// gradeOrExtract makes the answer to a line.
func gradeOrExtract(ctx context.Context, l inputLine, have grading.Input) (answer *pyvalue.Object, faulty bool) {
	object, fault := l.parse()
	if fault != nil {
		return verdictReply(nil, inputErrorResult(fault)), true
	}
	id := object.Get("id")
	if isAbsent(object.Get("extract")) {
		return gradeLine(ctx, id, object, have)
	}
	return extractAnswer(id, object)
}
