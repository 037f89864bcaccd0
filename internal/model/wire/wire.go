// Package wire has the wire formats of the HTTP APIs of language models, as a server or a
// proxy sees them: Anthropic's Messages, and OpenAI's Chat Completions and Responses.
//
// [ReadEnvelope], [WithModel] and [WithUsage] are for a proxy that forwards requests
// unchanged, and [ReplyReader] reads a reply while its bytes pass through. [DecodeRequest]
// and [ReplyWriter] are for a server: they convert between an API and what a
// [model.Client] takes and returns. The replies of all three APIs are written and read only
// here: the vendors' clients build their replies with [MessagesReply], [ChatReply] and
// [ResponsesReply], and mockapi sends its scripts with [StreamEncoder] and [EncodeReply].
package wire

// API is the format in which a client calls a model.
type API string

// The APIs.
const (
	Messages  API = "messages"  // Anthropic's Messages
	Chat      API = "chat"      // OpenAI's Chat Completions
	Responses API = "responses" // OpenAI's Responses
)

// Providers of the APIs, as in the names of models and in [model.APIError].
const (
	providerAnthropic = "anthropic"
	providerOpenAI    = "openai"
)

// APIOfPath returns the API whose requests are posted to this URL path, or false.
func APIOfPath(path string) (API, bool) {
	for _, api := range []API{Messages, Chat, Responses} {
		if path == api.Path() {
			return api, true
		}
	}
	return "", false
}

// Path returns the URL path of the API, such as /v1/messages.
func (a API) Path() string {
	switch a {
	case Messages:
		return "/v1/messages"
	case Chat:
		return "/v1/chat/completions"
	case Responses:
		return "/v1/responses"
	default:
		return ""
	}
}

// Provider returns the vendor whose API it is: anthropic or openai.
func (a API) Provider() string {
	if a == Messages {
		return providerAnthropic
	}
	return providerOpenAI
}
