package grading

import (
	"encoding/json"
	"errors"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// Extraction is what a conversation says was submitted.
type Extraction struct {
	Answer pyvalue.Value // nil: no answer
	Reason string        // why there is none; empty when there is one
}

// Extract looks for the answer in the entries of a conversation, oldest first.
// It is the JSON between the first <EVAL_ANSWER> and the next </EVAL_ANSWER> of
// a submission's summary. The last entry with such tags counts, and in it the
// first submission. What is between the tags is the answer or there is none:
// nothing is repaired, and no other place is looked at. JSON null is no answer.
//
// A submission is a tool_use of [IsSubmissionTool] in an assistant message, or an
// agent_result.
//
// The error, an [*Error], says that the conversation is not of the shape it
// must have, or that the answer passes a limit of [Decode]. There is no answer
// then either.
func Extract(history []json.RawMessage) (Extraction, error) {
	return extractFrom(len(history), func(i int) (pyvalue.Value, error) { return decodeEntry(history[i]) })
}

// ExtractMessages is [Extract] for a conversation that has been read.
func ExtractMessages(history pyvalue.List) (Extraction, error) {
	return extractFrom(len(history), func(i int) (pyvalue.Value, error) { return history[i], nil })
}

// extractFrom goes over n entries from the last to the first.
func extractFrom(n int, entry func(i int) (pyvalue.Value, error)) (Extraction, error) {
	none := Extraction{Reason: "no submission has <EVAL_ANSWER> tags"}
	for i := n - 1; i >= 0; i-- {
		v, err := entry(i)
		if err != nil {
			return none, err
		}
		summaries, err := summariesOf(v)
		for _, summary := range summaries {
			if text, ok := taggedText(summary); ok {
				return parseAnswer(text)
			}
		}
		if err != nil {
			return none, err
		}
	}
	return none, nil
}

// ExtractSummary is [Extract] for one summary.
func ExtractSummary(summary string) (Extraction, error) {
	text, ok := taggedText(summary)
	if !ok {
		return Extraction{Reason: "no submission has <EVAL_ANSWER> tags"}, nil
	}
	return parseAnswer(text)
}

// IsSubmissionTool says whether a tool of this name submits the answer:
// submit_response, also when it was offered over MCP, which puts
// mcp__<server>__ before it.
func IsSubmissionTool(tool string) bool {
	const name = "submit_response"
	return tool == name || strings.HasPrefix(tool, "mcp__") && strings.HasSuffix(tool, "__"+name)
}

func taggedText(summary string) (string, bool) {
	_, rest, opened := strings.Cut(summary, "<EVAL_ANSWER>")
	text, _, closed := strings.Cut(rest, "</EVAL_ANSWER>")
	return text, opened && closed
}

func parseAnswer(text string) (Extraction, error) {
	v, err := pyvalue.Decode(pyvalue.TrimSpace(text))
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return Extraction{Reason: "what is between the <EVAL_ANSWER> tags is not JSON: " + bad.Error()}, nil
	}
	if err != nil {
		return Extraction{Reason: err.Error()}, err
	}
	if v == (pyvalue.Null{}) {
		return Extraction{Reason: "what is between the <EVAL_ANSWER> tags is null"}, nil
	}
	return Extraction{Answer: v}, nil
}

func decodeEntry(entry json.RawMessage) (pyvalue.Value, error) {
	v, err := pyvalue.Decode(string(entry))
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return nil, pyvalue.ValueError("an entry of the conversation is not JSON: %v", bad)
	}
	return v, err
}

// summariesOf returns the summaries of an entry's submissions, in order. With an
// error it returns those before the place that is wrong.
func summariesOf(v pyvalue.Value) ([]string, error) {
	message, ok := v.(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("an entry of the conversation: want an object, found %s", pyvalue.KindOf(v))
	}
	switch {
	case pyvalue.Equal(message.Get("type"), pyvalue.String("agent_result")):
		return structuredSummary(message)
	case pyvalue.Equal(message.Get("type"), pyvalue.String("anthropic_message")) && pyvalue.Equal(message.Get("role"), pyvalue.String("assistant")):
		return contentSummaries(message)
	default:
		return nil, nil
	}
}

func contentSummaries(message *pyvalue.Object) ([]string, error) {
	switch content := message.Get("content").(type) {
	case pyvalue.List:
		return blockSummaries(content)
	case nil, pyvalue.String, *pyvalue.Object:
		return nil, nil // nothing in it is a block
	default:
		return nil, pyvalue.TypeError("the content of a message: want a list, found %s", pyvalue.KindOf(content))
	}
}

func blockSummaries(content pyvalue.List) (summaries []string, err error) {
	for _, item := range content {
		block, ok := item.(*pyvalue.Object)
		name, _ := block.Get("name").(pyvalue.String)
		if !ok || !pyvalue.Equal(block.Get("type"), pyvalue.String("tool_use")) || !IsSubmissionTool(string(name)) {
			continue
		}
		s, err := summaryOf(block.Get("input"), "the input of a submission")
		if err != nil {
			return summaries, err
		}
		summaries = append(summaries, s)
	}
	return summaries, nil
}

func structuredSummary(result *pyvalue.Object) ([]string, error) {
	s, err := summaryOf(result.Get("structured_output"), "the structured_output of an agent_result")
	if err != nil {
		return nil, err
	}
	return []string{s}, nil
}

// summaryOf returns the summary in v, which what describes. Neither v nor the
// summary need be there.
func summaryOf(v pyvalue.Value, what string) (string, error) {
	if v == nil {
		return "", nil
	}
	o, ok := v.(*pyvalue.Object)
	if !ok {
		return "", pyvalue.TypeError("%s: want an object, found %s", what, pyvalue.KindOf(v))
	}
	switch s := o.Get("summary").(type) {
	case nil:
		return "", nil
	case pyvalue.String:
		return string(s), nil
	default:
		return "", pyvalue.TypeError("the summary of a submission: want a string, found %s", pyvalue.KindOf(s))
	}
}

// maxExcerptRunes is how much of a file that is no JSON its reason shows, in
// characters.
const maxExcerptRunes = 500

// ExtractFile is [Extract] for agents that leave their answer in a file: all of
// its text is the JSON, without tags. Only the white space of JSON may stand
// around it, and nothing is repaired. JSON null is no answer. The reason why a
// text is no answer holds its first 500 characters.
func ExtractFile(text string) (Extraction, error) {
	v, err := pyvalue.Decode(text)
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		begin := pyvalue.Runes(text[:min(len(text), 4*maxExcerptRunes)]) // a character has 4 bytes at most
		return Extraction{Reason: "the file is not JSON: " + bad.Error() + "; it begins:\n" + encodeRunes(begin[:min(len(begin), maxExcerptRunes)])}, nil
	}
	if err != nil {
		return Extraction{Reason: err.Error()}, err
	}
	if v == (pyvalue.Null{}) {
		return Extraction{Reason: "the file holds null"}, nil
	}
	return Extraction{Answer: v}, nil
}

// encodeRunes is the text of code points, lone surrogates too.
func encodeRunes(points []rune) string {
	var text []byte
	for _, r := range points {
		text = pyvalue.AppendRune(text, r)
	}
	return string(text)
}
