package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/model"
	"assay/internal/model/gateway"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
	"assay/internal/redact"
)

// recordingFiles are the recordings that the gateway plays and writes, and the cache of replies.
type recordingFiles struct {
	cache    *replay.Cache    // of --cache; nil: none
	played   string           // file of --model replay:FILE; "": none
	match    replay.MatchMode // of --model-arg
	contents *replay.Recording
	written  *os.File // of --record; nil: none
	redactor *redact.Redactor
}

// open opens the recordings and the cache of the flags. It fails if the one to play has no calls or is malformed, or if
// the others cannot be written. The caller closes the files.
func (r *recordingFiles) open(p *cli, flags *kernelAndAgentFlags) (err error) {
	f := flags.builtin
	r.redactor = p.redactor
	if dir := flags.gateway.cacheDir; dir != "" {
		if r.cache, err = replay.OpenCache(dir, p.newLogger()); err != nil {
			return fmt.Errorf("--cache: %w", err)
		}
	}
	if file, isReplay := strings.CutPrefix(f.model, model.PrefixReplay); isReplay {
		options, _, err := p.modelSettings(f.model, f.modelArgs)
		if err != nil {
			return err
		}
		r.played, r.match = file, options.MatchMode
		if r.contents, err = (replay.Normalizer{}).ReadRecording(file); err != nil {
			return err
		}
	}
	if f.record == "" {
		return nil
	}
	r.written, err = openRecordingFile(f.record)
	return err
}

// isReplay reports whether the agents' calls are answered from a recording.
func (r *recordingFiles) isReplay() bool { return r.played != "" }

// configure makes an endpoint play, record and cache the calls of its agent. It fails if the recording cannot be played to
// this agent.
func (r *recordingFiles) configure(cfg *gateway.Config) error {
	normalizer := replay.Normalizer{Session: cfg.Agent.Session, Sandbox: []string{cfg.Agent.Workdir}, Redactor: r.redactor}
	if resolved, err := filepath.EvalSymlinks(cfg.Agent.Workdir); err == nil && resolved != cfg.Agent.Workdir {
		normalizer.Sandbox = append(normalizer.Sandbox, resolved)
	}
	if r.written != nil {
		cfg.Recorder = normalizer.NewRecorder(r.written)
	}
	if r.cache != nil {
		cfg.Cache = r.cache.ForAttempt(normalizer, cfg.Agent.Scope)
	}
	if !r.isReplay() {
		return nil
	}
	recording, err := normalizer.ReadRecording(r.played)
	if err != nil {
		return err
	}
	cfg.Replayer, err = normalizer.NewReplayer(recording, r.match)
	return err
}

// configureBuiltin sets the flags with which the built-in agent makes the recorded requests. It returns the API of
// an openai/ model, "" for any other.
func (r *recordingFiles) configureBuiltin(f *builtinAgentFlags) (api wire.API) {
	client := r.contents.Client()
	f.model = cmp.Or(client.ModelName, model.PrefixAnthropic+gateway.ModelName)
	f.isOpenAI = client.HasCompletionLimit
	f.isPriceUnknown = strings.HasSuffix(r.contents.NewReplayer().ModelName(), replay.UnknownPriceSuffix)
	if model.ProviderOf(f.model) == "openai" {
		return wire.API(client.API)
	}
	return ""
}

// close closes the file of --record.
func (r *recordingFiles) close() error {
	if r.written == nil {
		return nil
	}
	return r.written.Close()
}
