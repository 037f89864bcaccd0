package wire

import (
	"slices"
	"strings"

	"assay/internal/model"
)

// A reasoning item of the Responses API has room for the thinking of other models: its
// encrypted_content, which clients send back unread, holds the signature of a thinking
// block or the data of a redacted one. Prefixes distinguish them from OpenAI's own.
const (
	signaturePrefix = "thinking:"
	redactedPrefix  = "redacted_thinking:"
)

// reasoningPrefix begins the signature of a thinking block that was a reasoning item of
// OpenAI. The id of the item, a colon and its encrypted_content follow.
const reasoningPrefix = "openai:"

// ReasoningOfSignature returns the reasoning item of OpenAI that a thinking block with this
// signature was: its id and encrypted_content. ok is false for the thinking of another model.
func ReasoningOfSignature(signature string) (id, encrypted string, ok bool) {
	rest, ok := strings.CutPrefix(signature, reasoningPrefix)
	if !ok {
		return "", "", false
	}
	id, encrypted, ok = strings.Cut(rest, ":")
	return id, encrypted, ok && id != "" && encrypted != ""
}

// WithoutReasoning returns a reply, which may be nil, without what OpenAI has encrypted of its
// reasoning. The texts of the reasoning stay.
func WithoutReasoning(reply *model.Response) *model.Response {
	if reply == nil {
		return nil
	}
	out := *reply
	out.Content = slices.Clone(reply.Content)
	for i := range out.Content {
		if _, _, ok := ReasoningOfSignature(out.Content[i].Signature); ok {
			out.Content[i].Signature = ""
		}
	}
	return &out
}

// encryptedContent returns the encrypted_content for a block of thinking, and the id of its
// item, "" if it may have any.
func encryptedContent(b model.Block) (id, encrypted string) {
	if b.Type == model.BlockRedactedThinking {
		return "", redactedPrefix + b.Data
	}
	if id, encrypted, ok := ReasoningOfSignature(b.Signature); ok {
		return id, encrypted
	}
	return "", signaturePrefix + b.Signature
}

// thinking returns the block of a reasoning item with this text. The encrypted_content of
// OpenAI's own models is no signature for any other model: the block has one, with the
// reasoningPrefix, only if keepsReasoning is true.
func (in *outputItemJSON) thinking(text string, keepsReasoning bool) model.Block {
	if data, ok := strings.CutPrefix(in.EncryptedContent, redactedPrefix); ok {
		return model.Block{Type: model.BlockRedactedThinking, Data: data}
	}
	signature, ok := strings.CutPrefix(in.EncryptedContent, signaturePrefix)
	switch {
	case ok:
	case keepsReasoning && in.EncryptedContent != "" && in.ID != "" && !strings.Contains(in.ID, ":"):
		signature = reasoningPrefix + in.ID + ":" + in.EncryptedContent
	default:
		signature = ""
	}
	return model.Block{Type: model.BlockThinking, Thinking: text, Signature: signature}
}
