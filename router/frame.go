package router

import (
	"fmt"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// frame is one message on its way through the router: its envelope and body, and how it is
// recorded in the trace.
type frame struct {
	envelope protocol.Envelope
	body     []byte
	note     trace.Note // of the trace entry that is made when the frame is sent; empty: none

	// bodySeq is the number of the trace entry that already has body; 0: none has,
	// so that the entry of its sending records it.
	bodySeq int64

	// traceBody is recorded in the trace in place of body, where body is too large
	// for it; nil: body is recorded.
	traceBody []byte

	// causeSeq is the number of the trace entry that this frame was made out of;
	// 0: none.
	causeSeq int64
}

// newFrame encodes a message that the server itself made as a frame. It panics if the message
// has no JSON or is not an object, which is a programming error.
func newFrame(message any) frame {
	body, err := protocol.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("message %T: %v", message, err))
	}
	return newFrameFromBody(body)
}

// newFrameFromBody makes a frame of a JSON message that the router has put together. It panics
// if body is not a JSON object, which is a programming error.
func newFrameFromBody(body []byte) frame {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err != nil {
		panic(fmt.Sprintf("own message: %v", err))
	}
	return frame{envelope: env, body: body}
}

// newResponse makes the response with the given type and tx_id from an answer of the kernel or
// the document. A failure, and a reply with the status "interrupted", becomes an error that
// names the action. In any other reply only type, ids and status are replaced.
func newResponse(responseType, txID, action string, a answer) frame {
	failed := func(text string) frame {
		response := protocol.NewActionError(txID, text)
		response.Type = responseType
		f := newFrame(response)
		f.note = a.note
		return f
	}
	if a.failure != "" {
		return failed(a.failure)
	}
	fields := []protocol.Field{{Name: "type", Value: responseType}, {Name: "tx_id", Value: txID}, {Name: "agent_tx_id"}}
	switch a.frame.envelope.Status {
	case "", protocol.StatusOK, protocol.StatusSuccess:
		fields = append(fields, protocol.Field{Name: "status", Value: protocol.StatusSuccess})
	case protocol.StatusInterrupted:
		fields = append(fields, protocol.Field{Name: "status", Value: protocol.StatusError},
			protocol.Field{Name: "error", Value: action + " was interrupted"})
	}
	body, err := protocol.ReplaceFields(a.frame.body, fields...)
	if err != nil {
		return failed(err.Error())
	}
	f := newFrameFromBody(body)
	f.causeSeq = a.frame.bodySeq
	return f
}

// isForwardedToConsoles reports whether the router forwards frames of this type from the agent to
// consoles. Types that only the server or the kernel may send, such as a verdict or a cell's
// output, are not forwarded, so that no agent can forge them.
func isForwardedToConsoles(messageType string) bool {
	switch messageType {
	case protocol.TypeAgentStatus, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentResult,
		protocol.TypeAgentUsageUpdate, protocol.TypeAgentEvent, protocol.TypeAgentError:
		return true
	default:
		return isStreamFrame(messageType)
	}
}

// isStreamFrame reports whether frames of this type carry parts of an agent's reply while the
// model writes it. They may be left out for a slow console, because the complete reply follows.
func isStreamFrame(messageType string) bool {
	return messageType == protocol.TypeAgentStreamStart || messageType == protocol.TypeAgentStreamComplete || isStreamPart(messageType)
}

// isStreamPart reports whether frames of this type come between the start and the end of a streamed
// reply.
func isStreamPart(messageType string) bool {
	switch messageType {
	case protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta, protocol.TypeAgentStreamStop:
		return true
	default:
		return false
	}
}

// isRunFrame reports whether frames of this type, sent by the kernel, are about the runs of
// cells: start, output, result, queue and widgets.
func isRunFrame(messageType string) bool {
	switch messageType {
	case protocol.TypeStartCell, protocol.TypeKernelStdio, protocol.TypeCellOutput,
		protocol.TypeCellResult, protocol.TypeRunQueue, protocol.TypeCellWidgets:
		return true
	default:
		return false
	}
}
