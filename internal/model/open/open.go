// Package open returns the client of the model with a given name.
package open

import (
	"net/http"
	"time"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/model/openai"
	"assay/internal/model/replay"
	"assay/internal/model/script"
	"assay/internal/model/wire"
)

// Options are what opening a model needs besides its name. Each field is ignored by the
// models that the field's comment does not mention.
type Options struct {
	APIKey  string // of anthropic/ and openai/; openai/ needs none with a BaseURL
	BaseURL string // of anthropic/ and openai/; "" is the vendor's own

	// API and IsOpenAI are of openai/: see [openai.Config].
	API      wire.API
	IsOpenAI bool

	// IdleTimeout is for anthropic/ and openai/: a call without traffic for that time
	// ends with an [endpoint.IdleError]. 0 is [endpoint.DefaultIdleTimeout]; below 0
	// means no limit.
	IdleTimeout time.Duration

	Transport http.RoundTripper // of anthropic/ and openai/; nil is http.DefaultTransport

	Normalizer replay.Normalizer // of replay: the run in which the recording is played
	MatchMode  replay.MatchMode  // of replay: "" is MatchStrict
}

// Open returns the model with this name: "anthropic/<id>" or "openai/<id>",
// "script:FILE", which plays a [script.Script], or "replay:FILE", which plays a
// [replay.Recording]. An unknown name, a missing API key, and a missing or malformed
// file are errors. It does not use the network.
func Open(name string, opts Options) (model.Client, error) {
	prefix, rest, err := model.ParseName(name)
	if err != nil {
		return nil, err
	}
	switch prefix {
	case model.PrefixScript:
		script, err := script.ReadFile(rest)
		if err != nil {
			return nil, err
		}
		return script.Client(), nil
	case model.PrefixReplay:
		recording, err := opts.Normalizer.ReadRecording(rest)
		if err != nil {
			return nil, err
		}
		return opts.Normalizer.NewReplayer(recording, opts.MatchMode)
	case model.PrefixOpenAI:
		return openai.New(rest, openai.Config{Config: opts.endpointConfig(), API: opts.API, IsOpenAI: opts.IsOpenAI})
	default:
		return anthropic.New(rest, opts.endpointConfig())
	}
}

func (o Options) endpointConfig() endpoint.Config {
	return endpoint.Config{APIKey: o.APIKey, BaseURL: o.BaseURL, IdleTimeout: o.IdleTimeout, Transport: o.Transport}
}
