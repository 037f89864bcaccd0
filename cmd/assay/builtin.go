package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"assay/agent/builtin"
	"assay/agent/model"
)

// builtinFlags are those of the built-in agent. Whoever starts it has the same
// flags as the agent itself, and hands them on.
type builtinFlags struct {
	model, strategy                string
	modelArgs                      []string
	memoryDir, skillsDir, stateDir string
	maxEvalIters                   int
}

func (f *builtinFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "", "model of the built-in agent: anthropic/ID, script:FILE, or replay:FILE of recorded calls")
	flags.StringArrayVar(&f.modelArgs, "model-arg", nil, "setting of the model, as `KEY=VALUE`: max_tokens, temperature, thinking, base_url (repeatable)")
	flags.StringVar(&f.strategy, "strategy", "tools", "how the built-in agent works: "+strings.Join(builtin.Strategies(), ", "))
	flags.StringVar(&f.memoryDir, "memory-dir", "", "tools: `folder` with the five memory files (default: no memory)")
	flags.IntVar(&f.maxEvalIters, "max-eval-iters", 5, "blocks: `number` of feedback rounds")
	flags.StringVar(&f.skillsDir, "skills-dir", "", "ticks: `folder` with a folder for each skill (default: no skills)")
	flags.StringVar(&f.stateDir, "state-dir", "", "ticks: `folder` in which its state is kept, never the sandbox (default: none is kept)")
}

// arguments are the flags as the agent is started with them.
func (f *builtinFlags) arguments() []string {
	args := []string{"--model", f.model, "--strategy", f.strategy, "--max-eval-iters", strconv.Itoa(f.maxEvalIters)}
	for _, arg := range f.modelArgs {
		args = append(args, "--model-arg", arg)
	}
	for _, folder := range f.folders() {
		if *folder.path != "" {
			args = append(args, "--"+folder.flag, *folder.path)
		}
	}
	return args
}

type folderFlag struct {
	flag string
	path *string
}

func (f *builtinFlags) folders() []folderFlag {
	return []folderFlag{{"memory-dir", &f.memoryDir}, {"skills-dir", &f.skillsDir}, {"state-dir", &f.stateDir}}
}

// config is what the flags say, with the model opened.
func (f *builtinFlags) config(p *process) (builtin.Config, error) {
	cfg := builtin.Config{
		ModelName: f.model, Strategy: f.strategy, MemoryDir: f.memoryDir, MaxEvalIters: f.maxEvalIters,
		SkillsDir: f.skillsDir, StateDir: f.stateDir, Stderr: p.err, Log: p.log(),
	}
	if err := f.check(); err != nil {
		return cfg, err
	}
	var err error
	cfg.Model, cfg.Params, err = p.openModel(f.model, f.modelArgs)
	return cfg, err
}

func (f *builtinFlags) check() error {
	if f.model == "" {
		return errors.New("the built-in agent needs a --model: anthropic/ID, script:FILE or replay:FILE")
	}
	if f.maxEvalIters < 1 {
		return fmt.Errorf("--max-eval-iters %d: want at least 1", f.maxEvalIters)
	}
	return builtin.CheckStrategy(f.strategy)
}

// absolute makes every path good for the agent, which works in another folder.
func (f *builtinFlags) absolute() error {
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	f.model = model.InFolder(f.model, here)
	for _, folder := range f.folders() {
		if *folder.path == "" {
			continue
		}
		if *folder.path, err = filepath.Abs(*folder.path); err != nil {
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
	_, err := f.config(h.p)
	return err
}

// openModel opens a model with its settings.
func (p *process) openModel(name string, args []string) (model.Client, model.Params, error) {
	var params model.Params
	key, _ := p.getenv("ANTHROPIC_API_KEY")
	base, _ := p.getenv("ANTHROPIC_BASE_URL")
	options := model.Options{APIKey: key, BaseURL: base}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, params, fmt.Errorf("--model-arg %q: want KEY=VALUE", arg)
		}
		if name == "base_url" {
			options.BaseURL = value
			continue
		}
		if err := params.Set(name, value); err != nil {
			return nil, params, fmt.Errorf("--model-arg %s: %w", arg, err)
		}
	}
	client, err := model.Open(name, options)
	return client, params, err
}
