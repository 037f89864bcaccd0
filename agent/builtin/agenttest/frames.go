package agenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// Frame is a decoded frame.
type Frame map[string]any

// StringField returns the string in a field of the frame, "" if the field is missing or no
// string.
func (f Frame) StringField(name string) string {
	text, _ := f[name].(string)
	return text
}

// ObjectField returns the object in a field of the frame, nil if the field is missing or no
// object.
func (f Frame) ObjectField(name string) Frame {
	object, _ := f[name].(map[string]any)
	return object
}

// Frames returns all frames that the agent has sent so far.
func (s *Server) Frames() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// AwaitFrame waits for a frame after the first from ones and returns it. what names it in the
// failure if the agent ends first.
func (s *Server) AwaitFrame(from int, what string, match func(Frame) bool) Frame {
	s.T.Helper()
	deadline := time.NewTimer(time.Hour) // of a synctest clock, or longer than the test may take
	defer deadline.Stop()
	for {
		s.mu.Lock()
		frames, arrived := s.frames, s.frameArrived
		s.mu.Unlock()
		if i := slices.IndexFunc(frames[from:], match); i >= 0 {
			return frames[from+i]
		}
		select {
		case <-arrived:
		case err := <-s.Ended:
			require.FailNow(s.T, "the agent ended", "while waiting for %s: %v", what, err)
		case <-deadline.C:
			require.FailNow(s.T, "nothing came", "while waiting for %s", what)
		}
	}
}

// AwaitQueryEnd waits until a query has ended and returns its status or fatal error. Outside of an
// evaluation it also waits until the agent is ready again after a fatal error.
func (s *Server) AwaitQueryEnd(from int) string {
	s.T.Helper()
	isIdle := func(f Frame) bool {
		return !slices.Contains([]string{"", "thinking", "executing"}, f.StringField("status"))
	}
	f := s.AwaitFrame(from, "the end of the query", func(f Frame) bool { return isIdle(f) || f["fatal"] == true })
	if f["fatal"] == true && !s.evalMode {
		require.Equal(s.T, "ready", s.AwaitFrame(from, "the status after the error", isIdle).StringField("status"))
	}
	return f.StringField("status") + f.StringField("error")
}

// AwaitQueryEnds waits for the end of the first n queries of SendQueries.
func (s *Server) AwaitQueryEnds(n int) {
	s.T.Helper()
	for i := range n {
		s.AwaitFrame(0, "the end of a query", func(f Frame) bool {
			return IsQueryEndedEvent(f) && f.ObjectField("metadata").StringField("request_id") == fmt.Sprint(i)
		})
	}
}

// QueryAndWait sends a query and waits for its end; see AwaitQueryEnd.
func (s *Server) QueryAndWait(text string) string {
	s.T.Helper()
	from := len(s.Frames())
	s.SendQuery(text)
	return s.AwaitQueryEnd(from)
}

// FramesOfType returns the frames of a type.
func (s *Server) FramesOfType(frameType string) []Frame {
	return slices.DeleteFunc(s.Frames(), func(f Frame) bool { return f.StringField("type") != frameType })
}

// EventsOfType returns the events whose metadata have a type.
func (s *Server) EventsOfType(eventType string) []Frame {
	return slices.DeleteFunc(s.FramesOfType("agent_event"), func(f Frame) bool { return f.ObjectField("metadata").StringField("type") != eventType })
}

// CountFramesWithField returns how many frames have a text in a field.
func (s *Server) CountFramesWithField(field, text string) int {
	n := 0
	for _, f := range s.Frames() {
		if f.StringField(field) == text {
			n++
		}
	}
	return n
}

// ModelReplyCount returns how many replies the agent got from its model.
func (s *Server) ModelReplyCount() int { return len(s.FramesOfType("agent_usage_update")) }

// StopCellRequests returns the parameters of every stop_cell.
func (s *Server) StopCellRequests() []Frame {
	var all []Frame
	for _, f := range s.Frames() {
		if IsStopCellAction(f) {
			all = append(all, f.ObjectField("params"))
		}
	}
	return all
}

// Transcript returns the conversation as the agent has sent it.
func (s *Server) Transcript() []model.Message {
	s.T.Helper()
	var out []model.Message
	for _, f := range s.FramesOfType("agent_history_updated") {
		raw, err := json.Marshal(f["entry"])
		require.NoError(s.T, err)
		var m model.Message
		require.NoError(s.T, json.Unmarshal(raw, &m))
		out = append(out, m)
	}
	return out
}

// MessageTexts returns the texts of the conversation, each as "ROLE: TEXT".
func (s *Server) MessageTexts() []string {
	s.T.Helper()
	var texts []string
	for _, m := range s.Transcript() {
		texts = append(texts, m.Role+": "+model.JoinTextBlocks(m.Content))
	}
	return texts
}

// ToolResults returns every tool result of the conversation.
func (s *Server) ToolResults() []model.Block {
	s.T.Helper()
	var out []model.Block
	for _, m := range s.Transcript() {
		for _, b := range m.Content {
			if b.Type == model.BlockToolResult {
				out = append(out, b)
			}
		}
	}
	return out
}

// ToolResult returns the text of tool result number i, from 0, and whether it is an error.
func (s *Server) ToolResult(i int) (text string, isError bool) {
	s.T.Helper()
	all := s.ToolResults()
	require.Greater(s.T, len(all), i)
	return model.JoinTextBlocks(all[i].Content), all[i].IsError
}

// Submissions returns the input of every call of submit_response.
func (s *Server) Submissions() []builtin.Submission {
	s.T.Helper()
	var all []builtin.Submission
	for _, m := range s.Transcript() {
		for _, call := range model.ToolUses(m.Content) {
			if call.Name == builtin.SubmitTool {
				var submission builtin.Submission
				require.NoError(s.T, json.Unmarshal(call.Input, &submission))
				all = append(all, submission)
			}
		}
	}
	return all
}

// IsStopCellAction reports whether a frame is a stop_cell.
func IsStopCellAction(f Frame) bool { return f.StringField("action") == "stop_cell" }

// IsQueryEndedEvent reports whether a frame is the event that a query has ended.
func IsQueryEndedEvent(f Frame) bool { return f.ObjectField("metadata").StringField("type") == "ended" }
