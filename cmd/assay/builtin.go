package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"assay/agent/builtin"
	"assay/agent/builtin/blocks"
	"assay/agent/builtin/ticks"
	"assay/agent/builtin/tools"
	"assay/internal/limiter"
	"assay/internal/model"
	"assay/internal/model/endpoint"
	modelopen "assay/internal/model/open"
	"assay/internal/model/openai"
	"assay/internal/model/replay"
	"assay/internal/protocol"
)

// builtinFlags are those of the built-in agent. Whoever starts it has the same
// flags as the agent itself, and hands them on.
type builtinFlags struct {
	model, strategy, name          string
	modelArgs                      []string
	memoryDir, skillsDir, stateDir string
	maxEvalIters                   int
	record                         string
	turnstile                      string // socket at which calls of the model wait for their turn
}

func (f *builtinFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "", "`model` of the built-in agent: anthropic/ID, openai/ID, script:FILE, or replay:FILE (recorded calls)")
	flags.StringArrayVar(&f.modelArgs, "model-arg", nil, "model setting `KEY=VALUE`: max_tokens, temperature, thinking, reasoning_effort, base_url, idle_s, and for replay: match=strict or match=order (repeatable)")
	flags.StringVar(&f.strategy, "strategy", "tools", "`strategy` of the built-in agent: "+strings.Join(strategies(), ", "))
	flags.StringVar(&f.name, "name", "Eva", "`name` of the built-in agent")
	flags.StringVar(&f.memoryDir, "memory-dir", "", "with --strategy tools: `folder` with the five memory files (default: no memory)")
	flags.IntVar(&f.maxEvalIters, "max-eval-iters", 5, "with --strategy blocks: maximum `number` of feedback rounds")
	flags.StringVar(&f.skillsDir, "skills-dir", "", "with --strategy ticks: `folder` with one folder for each skill (default: no skills)")
	flags.StringVar(&f.stateDir, "state-dir", "", "with --strategy ticks: `folder` for the agent's state, outside the sandbox (default: state is not kept)")
	flags.StringVar(&f.record, "record", "", "`file` to record model calls in, one JSON line each, for --model replay:FILE (default: calls are not recorded)")
	flags.StringVar(&f.turnstile, "turnstile", "", "Unix `socket` of the limiter that admits model calls")
	_ = flags.MarkHidden("turnstile") // it is there: --max-model-calls makes it
}

// arguments are the flags as the agent is started with them.
func (f *builtinFlags) arguments() []string {
	args := []string{"--model", f.model, "--strategy", f.strategy, "--name", f.name, "--max-eval-iters", strconv.Itoa(f.maxEvalIters)}
	for _, arg := range f.modelArgs {
		args = append(args, "--model-arg", arg)
	}
	for _, named := range f.paths() {
		if *named.path != "" {
			args = append(args, "--"+named.flag, *named.path)
		}
	}
	return args
}

type pathFlag struct {
	flag string
	path *string
}

func (f *builtinFlags) paths() []pathFlag {
	return []pathFlag{
		{"memory-dir", &f.memoryDir},
		{"skills-dir", &f.skillsDir},
		{"state-dir", &f.stateDir},
		{"record", &f.record},
		{"turnstile", &f.turnstile},
	}
}

// strategies returns the values of --strategy.
func strategies() []string {
	return []string{tools.StrategyName, blocks.StrategyName, ticks.StrategyName}
}

// runStrategy runs the built-in agent with the strategy of the flags on conn.
func (f *builtinFlags) runStrategy(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
	switch f.strategy {
	case blocks.StrategyName:
		return blocks.Run(ctx, conn, blocks.Config{Agent: cfg, MaxRounds: f.maxEvalIters})
	case ticks.StrategyName:
		return ticks.Run(ctx, conn, ticks.Config{Agent: cfg, SkillsDir: f.skillsDir, StateDir: f.stateDir})
	default:
		return tools.Run(ctx, conn, tools.Config{Agent: cfg, MemoryDir: f.memoryDir})
	}
}

// config returns the configuration of the built-in agent, with the model opened.
func (f *builtinFlags) config(p *process) (builtin.Config, error) {
	cfg := builtin.Config{ModelName: f.model, Name: f.name, Stderr: p.err, Log: p.log()}
	if err := f.check(); err != nil {
		return cfg, err
	}
	options, params, err := p.modelSettings(f.model, f.modelArgs)
	if err != nil {
		return cfg, err
	}
	cfg.Params, cfg.PriceUnknown = params, openai.IsThirdParty(f.model, options.BaseURL)
	if cfg.Model, err = modelopen.Open(f.model, options); err != nil {
		return cfg, err
	}
	if replay, ok := cfg.Model.(*replay.Replayer); ok {
		replayed(&cfg, replay)
	} else if f.turnstile != "" {
		cfg.AcquireModelSlot = func(ctx context.Context) (func(), error) { return limiter.Acquire(ctx, f.turnstile) }
	}
	return cfg, nil
}

func (f *builtinFlags) check() error {
	if f.model == "" {
		return errors.New("the built-in agent needs a --model: anthropic/ID, openai/ID, script:FILE or replay:FILE")
	}
	if f.maxEvalIters < 1 {
		return fmt.Errorf("--max-eval-iters %d: want at least 1", f.maxEvalIters)
	}
	if !slices.Contains(strategies(), f.strategy) {
		return fmt.Errorf("unknown strategy %q: known are %s", f.strategy, strings.Join(strategies(), ", "))
	}
	return nil
}

// checkFolders looks at the folders that the strategy wants, and refuses those that
// it has no use for.
func (f *builtinFlags) checkFolders() error {
	for _, folder := range []struct{ flag, path, strategy string }{
		{"memory-dir", f.memoryDir, "tools"}, {"skills-dir", f.skillsDir, "ticks"}, {"state-dir", f.stateDir, "ticks"},
	} {
		info, err := os.Stat(folder.path)
		switch {
		case folder.path == "":
		case folder.strategy != f.strategy:
			return fmt.Errorf("--%s is for --strategy %s", folder.flag, folder.strategy)
		case err == nil && !info.IsDir():
			return fmt.Errorf("--%s %s: it is no folder", folder.flag, folder.path)
		case err != nil && folder.flag != "state-dir":
			return fmt.Errorf("--%s: %w", folder.flag, err)
		}
	}
	if f.memoryDir == "" {
		return nil
	}
	return tools.CheckMemory(f.memoryDir)
}

// priced reports whether it is known what the model costs. A recording knows what
// its calls have cost.
func (f *builtinFlags) priced(p *process) bool {
	options, _, err := p.modelSettings(f.model, f.modelArgs)
	return strings.HasPrefix(f.model, "replay:") || err == nil && model.FindCard(f.model) != nil && !openai.IsThirdParty(f.model, options.BaseURL)
}

// absolute makes every path good for the agent, which works in another folder.
func (f *builtinFlags) absolute() error {
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	f.model = model.ResolveName(f.model, here)
	for _, named := range f.paths() {
		if *named.path == "" {
			continue
		}
		if *named.path, err = filepath.Abs(*named.path); err != nil {
			return err
		}
	}
	return nil
}

// checkBuiltin opens the model once, so that a wrong name, a missing key or a
// faulty script is known before anything is started.
func (h *host) checkBuiltin(f *builtinFlags) error {
	if err := f.absolute(); err != nil {
		return err
	}
	if err := f.checkFolders(); err != nil {
		return err
	}
	if _, err := f.config(h.p); err != nil {
		return err
	}
	return f.checkRecord()
}

// openModel opens a model with its settings.
func (p *process) openModel(name string, args []string) (model.Client, model.Params, error) {
	options, params, err := p.modelSettings(name, args)
	if err != nil {
		return nil, params, err
	}
	client, err := modelopen.Open(name, options)
	return client, params, err
}

// modelSettings are those of a model: key and base URL of its provider, as the
// environment has them, and what the arguments say.
func (p *process) modelSettings(name string, args []string) (options modelopen.Options, params model.Params, err error) {
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
		case "match":
			options.MatchMode, err = replay.MatchMode(value), replay.CheckMatchMode(value)
		default:
			err = params.Set(key, value)
		}
		if err != nil {
			return options, params, fmt.Errorf("--model-arg %s: %w", arg, err)
		}
	}
	options.Normalizer = p.occasion()
	return options, params, params.Check(name)
}
