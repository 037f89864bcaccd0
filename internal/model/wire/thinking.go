package wire

import (
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

// encryptedContent returns the encrypted_content for a block of thinking.
func encryptedContent(b model.Block) string {
	if b.Type == model.BlockRedactedThinking {
		return redactedPrefix + b.Data
	}
	return signaturePrefix + b.Signature
}

// thinking returns the block of a reasoning item with this text. The encrypted_content of
// OpenAI's own models is no signature, so its block has none.
func (in *outputItemJSON) thinking(text string) model.Block {
	if data, ok := strings.CutPrefix(in.EncryptedContent, redactedPrefix); ok {
		return model.Block{Type: model.BlockRedactedThinking, Data: data}
	}
	signature, ok := strings.CutPrefix(in.EncryptedContent, signaturePrefix)
	if !ok {
		signature = ""
	}
	return model.Block{Type: model.BlockThinking, Thinking: text, Signature: signature}
}
