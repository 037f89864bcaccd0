package grading

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// ExtractedAnswer is the answer that a conversation submitted, or the reason why there
// is none.
type ExtractedAnswer struct {
	Answer pyvalue.Value // nil means that there is none
	Reason string        // why there is no answer; "" if there is one
}

// ExtractAnswer finds the submitted answer in the entries of a conversation, oldest
// first. It is the JSON between the first <EVAL_ANSWER> and the next </EVAL_ANSWER> in
// the summary of a submission. The last entry with such tags counts, and in it the
// first submission. If the text between the tags is not JSON, there is no answer:
// nothing is repaired, and no other place is searched. JSON null is no answer.
//
// A submission is a tool_use of [IsSubmissionTool] in a message of the assistant, or an
// agent_result.
//
// It returns a [*pyvalue.Error], and no answer, if the conversation has a wrong form or
// the answer exceeds a limit of [pyvalue.Decode].
func ExtractAnswer(history []json.RawMessage) (ExtractedAnswer, error) {
	return extractAnswerFromEntries(len(history), func(i int) (pyvalue.Value, error) { return decodeConversationEntry(history[i]) })
}

// ExtractAnswerFromMessages is [ExtractAnswer] for a conversation that is already
// decoded.
func ExtractAnswerFromMessages(history pyvalue.List) (ExtractedAnswer, error) {
	return extractAnswerFromEntries(len(history), func(i int) (pyvalue.Value, error) { return history[i], nil })
}

// extractAnswerFromEntries searches n entries of a conversation for the submitted answer,
// from the last to the first.
func extractAnswerFromEntries(n int, entry func(i int) (pyvalue.Value, error)) (ExtractedAnswer, error) {
	none := ExtractedAnswer{Reason: "no submission has <EVAL_ANSWER> tags"}
	for i := n - 1; i >= 0; i-- {
		v, err := entry(i)
		if err != nil {
			return none, err
		}
		summaries, err := submittedSummaries(v)
		for _, summary := range summaries {
			if text, ok := textBetweenAnswerTags(summary); ok {
				return parseAnswer(text)
			}
		}
		if err != nil {
			return none, err
		}
	}
	return none, nil
}

// ExtractAnswerFromSummary is [ExtractAnswer] for the text of a single summary.
func ExtractAnswerFromSummary(summary string) (ExtractedAnswer, error) {
	text, ok := textBetweenAnswerTags(summary)
	if !ok {
		return ExtractedAnswer{Reason: "no submission has <EVAL_ANSWER> tags"}, nil
	}
	return parseAnswer(text)
}

// SubmissionTool is the name of the tool, and of the action, by which an agent submits its answer.
const SubmissionTool = "submit_response"

// IsSubmissionTool reports whether the tool with this name submits the answer:
// submit_response, or the same tool offered over MCP, which puts mcp__<server>__ before
// the name.
func IsSubmissionTool(tool string) bool {
	return tool == SubmissionTool || strings.HasPrefix(tool, "mcp__") && strings.HasSuffix(tool, "__"+SubmissionTool)
}

// textBetweenAnswerTags returns the text between the <EVAL_ANSWER> tags of a summary, or false if
// there are no such tags.
func textBetweenAnswerTags(summary string) (string, bool) {
	_, rest, opened := strings.Cut(summary, "<EVAL_ANSWER>")
	text, _, closed := strings.Cut(rest, "</EVAL_ANSWER>")
	return text, opened && closed
}

// maxAnswerBytes is the size of the largest answer that is read. In memory an answer may take a
// hundred times as much.
const maxAnswerBytes = 1 << 20

// parseAnswer decodes the JSON between the <EVAL_ANSWER> tags. Text that is not JSON, too long, or
// JSON null, gives a reason instead of an answer.
func parseAnswer(text string) (ExtractedAnswer, error) {
	if len(text) > maxAnswerBytes {
		return ExtractedAnswer{Reason: fmt.Sprintf("what is between the <EVAL_ANSWER> tags has %d bytes: at most 1 MiB is read", len(text))}, nil
	}
	if pyvalue.TrimSpace(text) == "" {
		return ExtractedAnswer{Reason: "there is nothing between the <EVAL_ANSWER> tags"}, nil
	}
	v, err := pyvalue.Decode(pyvalue.TrimSpace(text))
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return ExtractedAnswer{Reason: "what is between the <EVAL_ANSWER> tags is not JSON: " + bad.Error()}, nil
	}
	if err != nil {
		return ExtractedAnswer{Reason: err.Error()}, err
	}
	if v == (pyvalue.Null{}) {
		return ExtractedAnswer{Reason: "what is between the <EVAL_ANSWER> tags is null"}, nil
	}
	return ExtractedAnswer{Answer: v}, nil
}

// decodeConversationEntry decodes the JSON of one conversation entry. Malformed JSON is a value
// error.
func decodeConversationEntry(entry json.RawMessage) (pyvalue.Value, error) {
	v, err := pyvalue.Decode(string(entry))
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return nil, pyvalue.ValueError("an entry of the conversation is not JSON: %v", bad)
	}
	return v, err
}

// submittedSummaries returns the summaries of the submissions in a conversation entry,
// in their order. With an error it returns those before the malformed place.
func submittedSummaries(v pyvalue.Value) ([]string, error) {
	message, ok := v.(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("an entry of the conversation: want an object, found %s", pyvalue.KindOf(v))
	}
	switch {
	case pyvalue.Equal(message.Get("type"), pyvalue.String("agent_result")):
		return agentResultSummary(message)
	case pyvalue.Equal(message.Get("type"), pyvalue.String("anthropic_message")) && pyvalue.Equal(message.Get("role"), pyvalue.String("assistant")):
		return submittedSummariesInContent(message)
	default:
		return nil, nil
	}
}

// submittedSummariesInContent returns the summaries of the submissions in the content
// of a message.
func submittedSummariesInContent(message *pyvalue.Object) ([]string, error) {
	switch content := message.Get("content").(type) {
	case pyvalue.List:
		return submittedSummariesInBlocks(content)
	case nil, pyvalue.String, *pyvalue.Object:
		return nil, nil // no blocks in it
	default:
		return nil, pyvalue.TypeError("the content of a message: want a list, found %s", pyvalue.KindOf(content))
	}
}

// submittedSummariesInBlocks returns the summaries of the submissions among the content
// blocks of a message. With an error it returns those before the malformed block.
func submittedSummariesInBlocks(content pyvalue.List) (summaries []string, err error) {
	for _, item := range content {
		block, ok := item.(*pyvalue.Object)
		name, _ := block.Get("name").(pyvalue.String)
		if !ok || !pyvalue.Equal(block.Get("type"), pyvalue.String("tool_use")) || !IsSubmissionTool(string(name)) {
			continue
		}
		s, err := getSummaryMember(block.Get("input"), "the input of a submission")
		if err != nil {
			return summaries, err
		}
		summaries = append(summaries, s)
	}
	return summaries, nil
}

// agentResultSummary returns the summary in an agent_result.
func agentResultSummary(result *pyvalue.Object) ([]string, error) {
	s, err := getSummaryMember(result.Get("structured_output"), "the structured_output of an agent_result")
	if err != nil {
		return nil, err
	}
	return []string{s}, nil
}

// getSummaryMember returns the member summary of v, or "" if v is nil or has none. what
// describes v in the type error for values of the wrong kind.
func getSummaryMember(v pyvalue.Value, what string) (string, error) {
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

// maxExcerptRunes is how many characters the reason quotes of an answer file that is
// not JSON.
const maxExcerptRunes = 500

// ExtractAnswerFromFile is [ExtractAnswer] for agents that leave their answer in a
// file: the whole text is the JSON, without tags. Only the white space of JSON may be
// around it, and nothing is repaired. JSON null is no answer. If the text is not JSON,
// the reason quotes its first 500 characters.
func ExtractAnswerFromFile(text string) (ExtractedAnswer, error) {
	v, err := pyvalue.Decode(text)
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		begin := pyvalue.Runes(text[:min(len(text), 4*maxExcerptRunes)]) // a character has at most 4 bytes
		return ExtractedAnswer{Reason: "the file is not JSON: " + bad.Error() + "; it begins:\n" + stringOfRunes(begin[:min(len(begin), maxExcerptRunes)])}, nil
	}
	if err != nil {
		return ExtractedAnswer{Reason: err.Error()}, err
	}
	if v == (pyvalue.Null{}) {
		return ExtractedAnswer{Reason: "the file holds null"}, nil
	}
	return ExtractedAnswer{Answer: v}, nil
}

// stringOfRunes returns the text of code points, lone surrogates included.
func stringOfRunes(points []rune) string {
	var text []byte
	for _, r := range points {
		text = pyvalue.AppendRune(text, r)
	}
	return string(text)
}
