// Package open returns the client of the model with a given name.
package open

import (
	"time"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/model/openai"
	"assay/internal/model/replay"
	"assay/internal/model/script"
)

// Options are what a model needs beside its name.
type Options struct {
	APIKey  string // of the model's provider; openai/ needs none at a BaseURL
	BaseURL string // of the API, "" is the provider's own; unused by script: and replay:

	// IdleTimeout is how long a call may be silent before it is cut as [ErrCutStream]:
	// 0 is [DefaultIdleTimeout], below 0 for ever. Unused by script: and replay:.
	IdleTimeout time.Duration

	Normalizer replay.Normalizer // on which replay: plays; unused by the others
	MatchMode  replay.MatchMode  // of replay:, "" is MatchStrict; unused by the others
}

// Open returns the model of that name: "anthropic/<id>", "openai/<id>",
// "script:FILE", which plays a [Script], or "replay:FILE", which plays a
// [Recording]. An unknown name, a missing key and a faulty file are errors; the
// network is not touched.
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
		return openai.New(rest, opts.endpoint())
	default:
		return anthropic.New(rest, opts.endpoint())
	}
}

func (o Options) endpoint() endpoint.Config {
	return endpoint.Config{APIKey: o.APIKey, BaseURL: o.BaseURL, IdleTimeout: o.IdleTimeout}
}
