package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"assay/agent/builtin"
	"assay/agent/builtin/blocks"
	"assay/agent/builtin/ticks"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/gateway"
	modelopen "assay/internal/model/open"
	"assay/internal/model/openai"
	"assay/internal/model/replay"
	"assay/internal/protocol"
)

// builtinAgentFlags are the flags of the built-in agent. The commands that start this agent
// have the same flags, and pass them on.
type builtinAgentFlags struct {
	model, strategy, name          string
	modelArgs                      []string
	memoryDir, skillsDir, stateDir string
	systemFile                     string // with text for the system prompt; "" means none
	systemText                     string // what the file contained when it was read
	systemCopy                     string // file with systemText for agents, so that all of a run have the same; "": there is none
	maxEvalIters                   int
	record                         string // file for recorded model calls; "" records none
	isPriceUnknown                 bool   // behind the gateway: the price of the model is not that of its vendor
	isOpenAI                       bool   // behind the gateway: the API is OpenAI's own
	flags                          *pflag.FlagSet
}

func (f *builtinAgentFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "", "`model` of the built-in agent, and of others by the name assay: anthropic/ID, openai/ID, script:FILE, or replay:FILE (recorded calls)")
	flags.StringArrayVar(&f.modelArgs, "model-arg", nil, "model setting `KEY=VALUE`: max_tokens, temperature, thinking, reasoning_effort, base_url, idle_s; for openai/: api=responses or api=chat; for replay: match=strict or match=order (repeatable)")
	flags.StringVar(&f.strategy, "strategy", "tools", "`strategy` of the built-in agent: "+strings.Join(strategyNames(), ", "))
	flags.StringVar(&f.name, "name", "Eva", "`name` of the built-in agent")
	flags.StringVar(&f.systemFile, "system", "", "`file` with text that follows the system prompt of the built-in agent, with any strategy")
	flags.StringVar(&f.memoryDir, "memory-dir", "", "with --strategy tools: `folder` with the five memory files (default: no memory)")
	flags.IntVar(&f.maxEvalIters, "max-eval-iters", 5, "with --strategy blocks: maximum `number` of feedback rounds")
	flags.StringVar(&f.skillsDir, "skills-dir", "", "with --strategy ticks: `folder` with one folder for each skill (default: no skills)")
	flags.StringVar(&f.stateDir, "state-dir", "", "with --strategy ticks: `folder` for the agent's state, outside the sandbox (default: state is not kept)")
	flags.StringVar(&f.record, "record", "", "`file` to record the agent's model calls in, one JSON line each, for --model replay:FILE (default: calls are not recorded)")
	flags.BoolVar(&f.isPriceUnknown, "price-unknown", false, "the price of the model is not that of its vendor")
	flags.BoolVar(&f.isOpenAI, "openai-api", false, "the API of the model is OpenAI's own")
	for _, name := range []string{"price-unknown", "openai-api"} {
		_ = flags.MarkHidden(name) // the server sets it; the flag exists
	}
	f.flags = flags
}

// arguments returns the flags as arguments for the agent's process.
func (f *builtinAgentFlags) arguments() []string {
	args := []string{"--model", f.model, "--strategy", f.strategy, "--name", f.name, "--max-eval-iters", strconv.Itoa(f.maxEvalIters)}
	for _, arg := range f.modelArgs {
		args = append(args, "--model-arg", arg)
	}
	if f.isPriceUnknown {
		args = append(args, "--price-unknown")
	}
	if f.isOpenAI {
		args = append(args, "--openai-api")
	}
	for _, flag := range f.pathFlags() {
		path := *flag.path
		if flag.name == "system" {
			path = cmp.Or(f.systemCopy, path)
		}
		if path != "" {
			args = append(args, "--"+flag.name, path)
		}
	}
	return args
}

// pathFlag is a flag with a path.
type pathFlag struct {
	name string
	path *string
}

func (f *builtinAgentFlags) pathFlags() []pathFlag {
	return []pathFlag{
		{"system", &f.systemFile},
		{"memory-dir", &f.memoryDir},
		{"skills-dir", &f.skillsDir},
		{"state-dir", &f.stateDir},
		{"record", &f.record},
	}
}

// strategyNames returns the values of --strategy.
func strategyNames() []string {
	return []string{tools.StrategyName, blocks.StrategyName, ticks.StrategyName}
}

// runStrategy runs the built-in agent with the strategy of the flags on conn.
func (f *builtinAgentFlags) runStrategy(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
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
func (f *builtinAgentFlags) config(p *cli) (builtin.Config, error) {
	cfg := builtin.Config{ModelName: f.model, Name: f.name, Stderr: p.stderr, Log: p.newLogger()}
	if err := f.check(); err != nil {
		return cfg, err
	}
	if err := f.readSystemFile(); err != nil {
		return cfg, err
	}
	cfg.SystemText = f.systemText
	options, params, err := p.modelSettings(f.model, f.modelArgs)
	if err != nil {
		return cfg, err
	}
	options.IsOpenAI = f.isOpenAI
	_, cfg.IsBehindGateway = p.getenv("ASSAY_MODELS_URL")
	if at, isReplay := p.getenv(gateway.ReplayVariable); isReplay && cfg.IsBehindGateway {
		var now func() time.Time
		if clock := endpoint.NewReplayClock(at); clock != nil {
			options.Transport, now = clock, clock.Now
		}
		configureReplay(&cfg, now)
	}
	cfg.Params, cfg.PriceUnknown = params, f.isPriceUnknown || !cfg.IsBehindGateway && openai.IsThirdParty(f.model, options.BaseURL)
	if cfg.Model, err = modelopen.Open(f.model, options); err != nil {
		return cfg, err
	}
	if replayer, ok := cfg.Model.(*replay.Replayer); ok {
		cfg.ModelName = replayer.ModelName()
		configureReplay(&cfg, replayer.Clock())
	}
	return cfg, nil
}

// check rejects invalid flags without opening files or the model.
func (f *builtinAgentFlags) check() error {
	if f.model == "" {
		return errors.New("the built-in agent needs a --model: anthropic/ID, openai/ID, script:FILE or replay:FILE")
	}
	if f.maxEvalIters < 1 {
		return fmt.Errorf("--max-eval-iters %d: want at least 1", f.maxEvalIters)
	}
	if !slices.Contains(strategyNames(), f.strategy) {
		return fmt.Errorf("unknown strategy %q: known are %s", f.strategy, strings.Join(strategyNames(), ", "))
	}
	return nil
}

// maxSystemFileBytes is the largest file of --system.
const maxSystemFileBytes = 1 << 20

// readSystemFile reads the file of --system, if there is one, at the first call. It fails if the file is no text.
func (f *builtinAgentFlags) readSystemFile() error {
	if f.systemFile == "" || f.systemText != "" {
		return nil
	}
	file, err := os.Open(f.systemFile)
	if err != nil {
		return fmt.Errorf("--system: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSystemFileBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("--system: %w", err)
	case len(text) > maxSystemFileBytes:
		return fmt.Errorf("--system %s: the file is larger than %d bytes", f.systemFile, maxSystemFileBytes)
	case !utf8.Valid(text):
		return fmt.Errorf("--system %s: the file is no text in UTF-8", f.systemFile)
	}
	if f.systemText = strings.TrimSpace(string(text)); f.systemText == "" {
		return fmt.Errorf("--system %s: the file is empty", f.systemFile)
	}
	return nil
}

// checkFolders checks that the folders of the strategy exist, and rejects folders of
// other strategies.
func (f *builtinAgentFlags) checkFolders() error {
	for _, folder := range []struct{ flag, path, strategy string }{
		{"memory-dir", f.memoryDir, "tools"}, {"skills-dir", f.skillsDir, "ticks"}, {"state-dir", f.stateDir, "ticks"},
	} {
		info, err := os.Stat(folder.path)
		switch {
		case folder.path == "":
		case folder.strategy != f.strategy:
			return fmt.Errorf("--%s is for --strategy %s", folder.flag, folder.strategy)
		case err == nil && !info.IsDir():
			return fmt.Errorf("--%s %s: not a folder", folder.flag, folder.path)
		case err != nil && folder.flag != "state-dir":
			return fmt.Errorf("--%s: %w", folder.flag, err)
		}
	}
	if f.memoryDir == "" {
		return nil
	}
	return tools.CheckMemoryFiles(f.memoryDir)
}

// isPriceKnown reports whether the price of the model is known. A recording has the prices
// of its calls.
func (f *builtinAgentFlags) isPriceKnown(p *cli) bool {
	options, _, err := p.modelSettings(f.model, f.modelArgs)
	return strings.HasPrefix(f.model, "replay:") || err == nil && model.FindModelCard(f.model) != nil && !openai.IsThirdParty(f.model, options.BaseURL)
}

// makePathsAbsolute makes every path absolute, because the agent works in another folder.
func (f *builtinAgentFlags) makePathsAbsolute() error {
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	f.model = model.ResolveFileInName(f.model, here)
	for _, flag := range f.pathFlags() {
		if *flag.path == "" {
			continue
		}
		if *flag.path, err = filepath.Abs(*flag.path); err != nil {
			return err
		}
	}
	return nil
}

// checkBuiltinAgent opens the model once, so that a wrong name, a missing key or an invalid
// script is reported before anything is started.
func (h *kernelAndAgentHost) checkBuiltinAgent(f *builtinAgentFlags) error {
	if err := f.makePathsAbsolute(); err != nil {
		return err
	}
	if err := f.checkFolders(); err != nil {
		return err
	}
	if _, err := f.config(h.p); err != nil {
		return err
	}
	return f.checkRecordFlag()
}
