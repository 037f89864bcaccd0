package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/endpoint"
	modelopen "assay/internal/model/open"
	"assay/internal/model/openai"
	"assay/internal/model/replay"
)

// openModel opens the model with that name and the settings of --model-arg.
func (p *cli) openModel(name string, args []string) (model.Client, model.Params, error) {
	options, params, err := p.modelSettings(name, args)
	if err != nil {
		return nil, params, err
	}
	client, err := modelopen.Open(name, options)
	return client, params, err
}

// openJudge opens a model for llm_judge, with API keys from the environment.
func (p *cli) openJudge(name string) (model.Client, error) {
	client, _, err := p.openModel(name, nil)
	return client, err
}

// modelSettings returns the settings of a model: key and base URL of its provider from
// the environment, then KEY=VALUE arguments, which override them.
func (p *cli) modelSettings(name string, args []string) (options modelopen.Options, params model.Params, err error) {
	switch model.ProviderOf(name) {
	case "anthropic":
		options.APIKey, _ = p.getenv("ANTHROPIC_API_KEY")
		options.BaseURL, _ = p.getenv("ANTHROPIC_BASE_URL")
	case "openai":
		options.APIKey, _ = p.getenv("OPENAI_API_KEY")
		options.BaseURL, _ = p.getenv("OPENAI_BASE_URL")
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return options, params, fmt.Errorf("--model-arg %q: want KEY=VALUE", arg)
		}
		switch key {
		case "base_url":
			options.BaseURL = value
		case "idle_s":
			options.IdleTimeout, err = endpoint.ParseIdleTimeout(value)
		case "api":
			options.API, err = openai.ParseAPI(value)
		case "match":
			options.MatchMode, err = replay.MatchMode(value), replay.CheckMatchMode(value)
		default:
			err = params.Set(key, value)
		}
		if err != nil {
			return options, params, fmt.Errorf("--model-arg %s: %w", arg, err)
		}
	}
	if options.API != "" && model.ProviderOf(name) != "openai" {
		return options, params, fmt.Errorf("--model-arg api=%s is for openai/ models, not for %s", options.API, name)
	}
	options.Normalizer = p.replayNormalizer()
	return options, params, params.Check(name)
}

// replayNormalizer returns the session and the sandbox of this process, which differ from
// run to run and are normalized in recorded calls. They are empty unless the server has
// started this process as an agent.
func (p *cli) replayNormalizer() replay.Normalizer {
	session, _ := p.getenv("ASSAY_SESSION")
	sandbox, _ := p.getenv("LATCH_SANDBOX_ROOT")
	if session == "" || sandbox == "" {
		return replay.Normalizer{Redactor: p.redactor}
	}
	paths := []string{sandbox}
	if resolved, err := filepath.EvalSymlinks(sandbox); err == nil && resolved != sandbox {
		paths = append(paths, resolved)
	}
	return replay.Normalizer{Session: session, Sandbox: paths, Redactor: p.redactor}
}

// checkRecordFlag rejects a file for recorded calls that is not writable or not empty: the
// agents of a run append to it.
func (f *builtinAgentFlags) checkRecordFlag() error {
	if f.record == "" {
		return nil
	}
	switch info, err := os.Stat(f.record); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--record: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("--record %s: not a plain file", f.record)
	case info.Size() > 0:
		return fmt.Errorf("--record %s: the file is not empty; name another, or remove it", f.record)
	}
	file, err := openRecordingFile(f.record)
	if err != nil {
		return err
	}
	return file.Close()
}

// openRecordingFile opens a file to append lines to. Several agents may append to it: the
// system keeps the lines apart, because each is one write.
func openRecordingFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return file, nil
}

// startRecording makes the model of cfg record its calls, if --record was given. The
// caller must call stop after the last call.
func (f *builtinAgentFlags) startRecording(p *cli, cfg *builtin.Config) (stop func() error, err error) {
	if f.record == "" {
		return func() error { return nil }, nil
	}
	file, err := openRecordingFile(f.record)
	if err != nil {
		return nil, err
	}
	normalizer := p.replayNormalizer()
	if normalizer.Clock = cfg.Clock; normalizer.Clock == nil {
		normalizer.Clock = time.Now
	}
	name := f.model
	if cfg.PriceUnknown {
		name += replay.UnknownPriceSuffix
	}
	cfg.Model = normalizer.NewRecordingClient(name, cfg.Model, file)
	return file.Close, nil
}

// configureReplay makes an agent repeat recorded calls: with the clock of the recording, nil if it has none,
// and without waiting.
func configureReplay(cfg *builtin.Config, clock func() time.Time) {
	cfg.Clock = clock
	cfg.Jitter = func() float64 { return 0 }
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}
