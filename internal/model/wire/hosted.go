package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// FindHosted returns what of a request the vendor does itself, with its own network: a tool that it runs, a file or a
// picture that it fetches, a prompt that it has stored, a model that searches the web. It returns the place of the
// first, such as tools.0.type, and what it is, or "" if there is none. Tools of types that are not known count as the
// vendor's, and so does a request in which an object has a name twice: the vendor may read the other value.
func FindHosted(api API, body []byte) (place, what string) {
	if !jsontext.Value(body).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return "the body", "its JSON is malformed, or an object has a name twice"
	}
	request := gjson.ParseBytes(body)
	if model := request.Get("model").Str; searchesByItself(model) {
		return "model", model
	}
	for _, name := range hostedMembers() {
		if value := request.Get(name); value.Exists() && value.Type != gjson.Null && value.Type != gjson.False && value.Raw != "[]" {
			return name, name
		}
	}
	if place, what = findHostedTool("tools", api, request.Get("tools")); place != "" {
		return place, what
	}
	for _, name := range []string{"messages", "input", "system", "instructions"} {
		if place, what = findFetched(name, request.Get(name)); place != "" {
			return place, what
		}
	}
	return "", ""
}

// searchesByItself reports whether the name of a model says that it searches the web, with OpenAI or a server that has its API:
// as documented by OpenAI, OpenRouter, Perplexity and Groq.
func searchesByItself(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"-search", ":online", "deep-research", "sonar", "compound", "@preset/"}, func(part string) bool { return strings.Contains(model, part) })
}

// hostedMembers returns the members of a request with what the vendor does itself: of Anthropic and OpenAI, then of other
// servers with OpenAI's API, as documented by OpenRouter, xAI, Alibaba, Azure, Groq and LiteLLM.
func hostedMembers() []string {
	return []string{
		"mcp_servers", "web_search_options", "plugins", "prompt",
		"preset", "models", "search_parameters", "enable_search", "search_options", "web_search", "data_sources", "compound_custom", "connectors",
		"fallbacks", "api_base", "base_url", "extra_body", "agent_id", "google",
	}
}

// findHostedTool returns the first tool of a list that the vendor runs.
func findHostedTool(place string, api API, tools gjson.Result) (at, what string) {
	for i, tool := range tools.Array() {
		here := fmt.Sprintf("%s.%d", place, i)
		if tool.Get("type").Str == toolTypeNamespace {
			if at, what := findHostedTool(here+".tools", api, tool.Get("tools")); at != "" {
				return at, what
			}
			continue
		}
		if !isRunByAgent(api, tool) {
			return here + ".type", tool.Get("type").Str
		}
	}
	return "", ""
}

// isRunByAgent reports whether the client of an API runs a tool.
func isRunByAgent(api API, tool gjson.Result) bool {
	kind := tool.Get("type").Str
	if api == Messages {
		return kind == "" || kind == "custom" || slices.ContainsFunc([]string{"bash_", "text_editor_", "memory_", "computer_"}, func(prefix string) bool {
			return strings.HasPrefix(kind, prefix)
		})
	}
	if kind == "shell" {
		environment := tool.Get("environment.type").Str
		return environment == "" || environment == "local"
	}
	return slices.Contains([]string{"function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview"}, kind)
}

// findFetched returns the first address in a value of JSON that the vendor would fetch.
func findFetched(place string, value gjson.Result) (at, what string) {
	if !value.IsObject() && !value.IsArray() {
		return "", ""
	}
	isSource := value.Get("type").Str == "url"
	value.ForEach(func(name, inner gjson.Result) bool {
		here := place
		if value.IsObject() {
			here += "." + name.Str
		}
		switch {
		case name.Str == "file_url",
			slices.Contains([]string{"video_url", "audio_url", "file_data"}, name.Str) && inner.Type == gjson.String && isWebAddress(inner.Str),
			name.Str == "image_url" && inner.Type == gjson.String && !isDataURL(inner.Str),
			name.Str == "url" && (isSource || strings.HasSuffix(place, "_url")) && inner.Type == gjson.String && !isDataURL(inner.Str):
			at, what = here, "an address to fetch"
		case name.Str != "input" && name.Str != "arguments": // what the model has said
			at, what = findFetched(here, inner)
		}
		return at == ""
	})
	return at, what
}

// isWebAddress reports whether a text is no data: those of files may be bare base64.
func isWebAddress(text string) bool { return strings.Contains(text, "://") && !isDataURL(text) }

func isDataURL(address string) bool { return strings.HasPrefix(address, "data:") }
