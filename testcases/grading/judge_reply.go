package grading

import (
	"fmt"
	"strings"

	"assay/internal/model"
	"assay/testcases/grading/pyvalue"
)

// verdict is what a judge says.
type verdict struct {
	passed              bool
	score               pyvalue.Value // a number from 0 to 1
	reasoning           string
	successes, failures pyvalue.List // of strings
}

// readVerdict reads the reply of a judge: its text must be one JSON object with
// score, passed, reasoning and, if there are any, successes and failures. It may
// stand in one code fence, and nothing may stand beside it. The error says, to
// the judge, what is wrong; nothing is guessed, so that no text that the judge
// quotes or was talked into can become a verdict.
func readVerdict(reply *model.Response) (*verdict, error) {
	if reply.StopReason != model.StopEndTurn && reply.StopReason != model.StopSequence {
		return nil, fmt.Errorf("it ended with stop reason %q", reply.StopReason)
	}
	text, err := unfence(strings.TrimSpace(model.PlainText(reply.Content)))
	if err != nil {
		return nil, err
	}
	said, err := decodeObject(text, []member{
		{name: "score", required: true, want: "a number from 0 to 1", fits: isShare},
		{name: "passed", required: true, want: "true or false", fits: isA[pyvalue.Bool]},
		{name: "reasoning", required: true, want: "a string", fits: isA[pyvalue.String]},
		{name: "successes", want: "a list of strings", fits: isTexts},
		{name: "failures", want: "a list of strings", fits: isTexts},
	})
	if err != nil {
		return nil, err
	}
	v := &verdict{passed: said.Get("passed") == pyvalue.Bool(true), score: said.Get("score"), reasoning: pyvalue.Text(said.Get("reasoning"))}
	v.successes, _ = orElse(said, "successes", pyvalue.List{}).(pyvalue.List) // it is one
	v.failures, _ = orElse(said, "failures", pyvalue.List{}).(pyvalue.List)
	return v, nil
}

// unfence returns what is in a code fence if text is one, else text as it is.
func unfence(text string) (string, error) {
	const fence = "```"
	if !strings.HasPrefix(text, fence) {
		return text, nil
	}
	first, rest, _ := strings.Cut(text, "\n")
	inside, closed := strings.CutSuffix(rest, "\n"+fence)
	info := strings.ToLower(strings.TrimSpace(first[len(fence):]))
	if !closed || info != "" && info != "json" {
		return "", fmt.Errorf("want one JSON object, or a code fence of json that spans the whole reply, found %s", show(pyvalue.String(text)))
	}
	return inside, nil
}
