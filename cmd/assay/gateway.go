package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/gateway"
	modelopen "assay/internal/model/open"
	"assay/internal/model/openai"
	"assay/internal/model/wire"
)

// gatewayFlags are the flags about the calls of agents' models.
type gatewayFlags struct {
	mode     string // on or off
	maxCalls int    // in flight; 0 means no limit
	cacheDir string // folder of the cache of replies; "": none
}

func (f *gatewayFlags) add(flags *pflag.FlagSet) {
	f.mode = "on"
	flags.Var(choiceFlag{&f.mode, []string{"on", "off"}}, "gateway", "have agents call their models through this process, which keeps the keys, counts, limits and records: `on|off`")
	flags.StringVar(&f.cacheDir, "cache", "", "`folder` with models' replies: a call that an earlier run has made is answered from there, and other replies are added")
	flags.IntVar(&f.maxCalls, "max-model-calls", 0, "maximum `number` of model calls in flight over all agents and judges; 0 is no limit")
}

// check rejects invalid flags.
func (f *gatewayFlags) check() error {
	switch {
	case f.maxCalls < 0:
		return fmt.Errorf("--max-model-calls %d: want at least 1, or 0 for no limit", f.maxCalls)
	case f.maxCalls > 0 && f.mode == "off":
		return errors.New("--max-model-calls is enforced by the gateway, which is off: leave out --gateway off or --max-model-calls")
	case f.cacheDir != "" && f.mode == "off":
		return errors.New("--cache: the calls go through the gateway, which is off: leave out --gateway off or --cache")
	}
	return nil
}

// checkCache rejects --cache for agents whose calls of models this process does not see, and for models without an API.
func (f *kernelAndAgentFlags) checkCache() error {
	switch prefix, _, _ := model.ParseName(f.builtin.model); {
	case f.gateway.cacheDir == "":
		return nil
	case !f.usesGateway():
		return fmt.Errorf("--cache: the agent %s makes no calls of models through Assay", f.agent)
	case prefix == model.PrefixScript, prefix == model.PrefixReplay:
		return fmt.Errorf("--cache is for models behind an API, not for %s", f.builtin.model)
	default:
		return nil
	}
}

// usesGateway reports whether the agent's calls of models go through this process. Some agents call no model, or not
// from a process that this one starts.
func (f *kernelAndAgentFlags) usesGateway() bool {
	return f.gateway.mode == "on" && !slices.Contains([]string{"oracle", "noop", agentFlagHuman, agentFlagMCP}, f.agent)
}

// modelGateway makes the endpoints through which agents call their models.
type modelGateway struct {
	config   gateway.Config // without what differs between the endpoints
	baseURLs map[string]string
	modelAPI wire.API // that --model-arg has chosen for an openai/ model; "": none
	files    recordingFiles
}

// newModelGateway returns the gateway of the flags, or nil if there is none. It fails if the model cannot be
// opened, for instance because its key is missing.
func (h *kernelAndAgentHost) newModelGateway() (*modelGateway, error) {
	f := h.flags
	if !f.usesGateway() {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	g := &modelGateway{baseURLs: map[string]string{}}
	g.config = gateway.Config{
		Vendors: map[string]gateway.Vendor{}, Slots: h.modelSlots, FindCard: g.findCard, Transport: gateway.NewTransport(), Log: h.p.newLogger(),
		RefusesHosted: f.confinesAgent() && f.agentSandbox.network != "on",
	}
	if err := g.files.open(h.p, f); err != nil || g.files.isReplay() {
		return g, err
	}
	for _, prefix := range []string{model.PrefixAnthropic, model.PrefixOpenAI} {
		options, _, err := h.p.modelSettings(prefix+"any", nil)
		if err != nil {
			return nil, err
		}
		if options.APIKey != "" || options.BaseURL != "" {
			if err := g.addVendor(strings.TrimSuffix(prefix, "/"), options); err != nil {
				return nil, err
			}
		}
	}
	if f.builtin.model == "" {
		return g, nil
	}
	return g, g.addModel(h.p, f.builtin)
}

// addVendor adds the API of a provider.
func (g *modelGateway) addVendor(provider string, options modelopen.Options) error {
	base, err := baseURLOf(provider, options.BaseURL)
	if err != nil {
		return err
	}
	g.config.Vendors[provider], g.baseURLs[provider] = gateway.Vendor{BaseURL: base, APIKey: options.APIKey}, options.BaseURL
	return nil
}

// baseURLOf returns the URL of a provider's API; "" is the vendor's own.
func baseURLOf(provider, text string) (*url.URL, error) {
	if provider == "openai" {
		return openai.ParseBaseURL(text)
	}
	if text == "" {
		text = "https://api.anthropic.com"
	}
	base, err := endpoint.ParseBaseURL(text)
	if err != nil {
		return nil, fmt.Errorf("the API of %s: %w", provider, err)
	}
	return base, nil
}

// addModel adds the model of --model, by the name "assay".
func (g *modelGateway) addModel(p *cli, f builtinAgentFlags) error {
	options, _, err := p.modelSettings(f.model, f.modelArgs)
	if err != nil {
		return err
	}
	client, err := modelopen.Open(f.model, options)
	if err != nil {
		return err
	}
	g.config.IdleTimeout, g.modelAPI = options.IdleTimeout, options.API
	g.config.Model = &gateway.Model{Name: f.model, Client: client}
	if provider := model.ProviderOf(f.model); provider != "" {
		if err := g.addVendor(provider, options); err != nil {
			return err
		}
		g.config.Model.Provider, g.config.Model.ID = provider, strings.TrimPrefix(f.model, provider+"/")
		g.config.Model.Vendor = g.config.Vendors[provider]
	}
	return nil
}

// findCard returns the price of a provider's model, or nil if it is not known.
func (g *modelGateway) findCard(provider, id string) *model.ModelCard {
	name := provider + "/" + id
	if openai.IsThirdParty(name, g.baseURLs[provider]) {
		return nil
	}
	return model.FindModelCard(name)
}

// open returns the endpoint of one agent.
func (g *modelGateway) open(agent gateway.Agent) *gateway.Endpoint {
	cfg := g.config
	cfg.Token, cfg.Agent = "assay-"+uuid.NewString(), agent
	if err := g.files.configure(&cfg); err != nil {
		endpoint := gateway.New(cfg)
		endpoint.Refuse(err.Error())
		return endpoint
	}
	return gateway.New(cfg)
}

// close closes the idle connections to vendors, and the file of --record.
func (g *modelGateway) close() error {
	if g == nil {
		return nil
	}
	if transport, ok := g.config.Transport.(interface{ CloseIdleConnections() }); ok {
		transport.CloseIdleConnections()
	}
	return g.files.close()
}

// builtinArguments returns the flags of the built-in agent as arguments for its process. The gateway has the settings
// of the API, plays a script or a recording, and records. The process does not see where the API is, so its
// arguments name the one to use.
func (g *modelGateway) builtinArguments(f *builtinAgentFlags) []string {
	behind := *f
	behind.record = ""
	behind.modelArgs = slices.DeleteFunc(slices.Clone(f.modelArgs), func(arg string) bool {
		key, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"base_url", "idle_s", "match", "api"}, key)
	})
	behind.modelArgs = append(behind.modelArgs, "idle_s=0") // a call may wait for others
	api := g.modelAPI
	switch baseURL := g.baseURLs[model.ProviderOf(f.model)]; {
	case g.files.isReplay():
		api = g.files.configureBuiltin(&behind)
	case model.ProviderOf(f.model) == "":
		behind.model = model.PrefixAnthropic + gateway.ModelName
	case model.ProviderOf(f.model) == "openai":
		behind.isPriceUnknown = openai.IsThirdParty(f.model, baseURL)
		behind.isOpenAI = !behind.isPriceUnknown
		api = cmp.Or(api, openai.DefaultAPI(baseURL))
	}
	if g.files.cache != nil {
		behind.isPriceUnknown = true // a reply from the cache costs nothing, which the agent does not see
	}
	if api != "" {
		behind.modelArgs = append(behind.modelArgs, "api="+string(api))
	}
	return behind.arguments()
}
