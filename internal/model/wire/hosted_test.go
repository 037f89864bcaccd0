package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/wire"
)

func TestFindHosted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api         wire.API
		body, place string
	}{
		{wire.Messages, `{"model":"m","tools":[{"name":"a","input_schema":{}},{"type":"custom","name":"b"},{"type":"bash_20250124","name":"bash"}]}`, ""},
		{wire.Messages, `{"model":"m","tools":[{"name":"a"},{"type":"web_search_20250305","name":"web_search"}]}`, "tools.1.type"},
		{wire.Messages, `{"model":"m","tools":[{"type":"code_execution_20250825","name":"x"}]}`, "tools.0.type"},
		{wire.Messages, `{"model":"m","mcp_servers":[{"type":"url","url":"https://x"}]}`, "mcp_servers"},
		{wire.Messages, `{"model":"m","mcp_servers":[],"messages":[{"role":"user","content":"see https://x"}]}`, ""},
		{wire.Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}`, "messages.content.source.url"},
		{wire.Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"document","source":{"type":"url","url":"https://x"}}]}]}]}`, "messages.content.content.source.url"},
		{wire.Messages, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","name":"fetch","input":{"type":"url","url":"https://x","image_url":"https://x"}}]}]}`, ""},
		{wire.Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AA=="}}]}]}`, ""},
		{wire.Messages, `{"model":"m","messages":[{"role":"user","content":"half a pair: \ud83d"}]}`, ""},
		{wire.Messages, `{"model":"m","tools":[],"tools":[{"type":"web_search_20250305","name":"w"}]}`, "the body"},
		{wire.Messages, `{"model":"m","tools":[{"type":"custom","name":"w","type":"web_search_20250305"}]}`, "the body"},
		{wire.Messages, `{"model":"m","t\u006fols":[{"t\u0079pe":"web_search_20250305","name":"w"}]}`, "tools.0.type"},
		{wire.Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","s\u006furce":{"type":"url","\u0075rl":"https://x"}}]}]}`, "messages.content.source.url"},
		{wire.Chat, `{"model":"vendor/x:online","messages":[]}`, "model"},
		{wire.Messages, `{"model":"vendor/x:online","messages":[]}`, "model"},
		{wire.Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"//host/x"}]}]}`, "input.content.file_url"},
		{wire.Chat, `{"model":"m","plugins":[{"id":"web"}]}`, "plugins"},
		{wire.Chat, `{"model":"gpt-4o-search-preview","messages":[]}`, "model"},
		{wire.Chat, `{"model":"m","web_search_options":{}}`, "web_search_options"},
		{wire.Chat, `{"model":"openai/gpt-5:ONLINE:nitro"}`, "model"},
		{wire.Chat, `{"model":"perplexity/sonar-pro"}`, "model"},
		{wire.Chat, `{"model":"groq/compound"}`, "model"},
		{wire.Chat, `{"model":"@preset/web"}`, "model"},
		{wire.Responses, `{"model":"o4-mini-deep-research"}`, "model"},
		{wire.Chat, `{"model":"m","models":["x:online"]}`, "models"},
		{wire.Chat, `{"model":"m","enable_search":true}`, "enable_search"},
		{wire.Chat, `{"model":"m","enable_search":false,"models":[]}`, ""},
		{wire.Chat, `{"model":"m","search_parameters":{"mode":"on"}}`, "search_parameters"},
		{wire.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://x"}}]}]}`, "messages.content.video_url.url"},
		{wire.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"https://x"}}]}]}`, "messages.content.file.file_data"},
		{wire.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA=="}}]}]}`, ""},
		{wire.Chat, `{"model":"m","tools":[{"type":"function","function":{"name":"web_search"}}],"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`, ""},
		{wire.Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}]}`, "messages.content.image_url.url"},
		{wire.Responses, `{"model":"m","input":"hi","tools":[{"type":"function","name":"f"},{"type":"shell"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}]}`, ""},
		{wire.Responses, `{"model":"m","input":"hi","tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp","server_url":"https://x"}]}]}`, "tools.0.tools.0.type"},
		{wire.Responses, `{"model":"m","input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, "tools.0.type"},
		{wire.Responses, `{"model":"m","input":"hi","tools":[{"type":"web_search"}]}`, "tools.0.type"},
		{wire.Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}]}`, "input.content.image_url"},
		{wire.Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"https://x"}]}]}`, "input.content.file_url"},
		{wire.Responses, `{"model":"m","prompt":{"id":"p"}}`, "prompt"},
		{wire.Responses, `{"model":"m","prompt":null,"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}]}`, ""},
	} {
		place, _ := wire.FindHosted(c.api, []byte(c.body))
		require.Equal(t, c.place, place, c.body)
	}
}
