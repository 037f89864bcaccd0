package gateway

import (
	"regexp"
	"slices"
	"strings"

	"assay/internal/redact"
)

// Environ returns the environment of an agent: environ without the keys of models' APIs and where
// these are, and with the variables by which the SDKs of vendors find an endpoint that listens at this
// address, HOST:PORT, also if a proxy is set. ASSAY_MODELS_URL says that there is one, and [ReplayVariable]
// that it plays a recording.
func (e *Endpoint) Environ(environ []string, address string) []string {
	noProxy := "127.0.0.1,localhost"
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		if strings.EqualFold(name, "NO_PROXY") && value != "" {
			noProxy += "," + value
		}
		return isModelVariable(name) || strings.EqualFold(name, "NO_PROXY")
	})
	if e.cfg.Replayer != nil {
		kept = append(kept, ReplayVariable+"="+formatTime(e.cfg.Replayer.Time()))
	}
	return append(kept, "NO_PROXY="+noProxy, "no_proxy="+noProxy,
		"ASSAY_MODELS_URL=http://"+address,
		"ANTHROPIC_BASE_URL=http://"+address,
		"ANTHROPIC_API_KEY="+e.cfg.Token,
		"OPENAI_BASE_URL=http://"+address+"/v1",
		"OPENAI_API_KEY="+e.cfg.Token,
	)
}

// modelVariable matches the names of environment variables about the APIs of models.
var modelVariable = regexp.MustCompile(`(?i)^(ANTHROPIC|CLAUDE|OPENAI|AZURE|GEMINI|GOOGLE|VERTEX|AWS|BEDROCK|MISTRAL|GROQ|XAI|GROK|DEEPSEEK|OPENROUTER|TOGETHER|FIREWORKS|COHERE|CO_|HF_|HUGGING|PERPLEXITY|REPLICATE|CEREBRAS|NVIDIA|DEEPINFRA|AI21|DATABRICKS|VOYAGE|JINA|SAMBANOVA|NEBIUS|NOVITA|HYPERBOLIC|BASETEN|WATSONX|MINIMAX|STEPFUN|CLOUDFLARE|VERCEL|SILICONFLOW|FRIENDLI|LEPTON|ANYSCALE|MOONSHOT|KIMI|ZAI|ZHIPU|DASHSCOPE|QWEN|OLLAMA|LITELLM|AI_GATEWAY|GITHUB_(MODELS|COPILOT)|CODEX)`)

// isModelVariable reports whether an environment variable with this name has a key of a model's API,
// or says where the API is.
func isModelVariable(name string) bool {
	switch name {
	case "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_CUSTOM_HEADERS":
		return true
	}
	return modelVariable.MatchString(name) && redact.IsSecretName(name)
}
