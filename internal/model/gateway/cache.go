package gateway

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"assay/internal/model"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

// replyFromCache answers a call with the reply of an equal one of an earlier run, and returns true, if the endpoint
// has a cache with such a reply.
func (c *call) replyFromCache(w *replyWriter, r *http.Request, vendor Vendor) bool {
	cache := c.endpoint.cfg.Cache
	if cache == nil || !isRepeatable(c.api, c.body) {
		return false
	}
	key := replay.CacheKey{API: string(c.api), Model: c.provider() + "/" + c.reply.Model, Features: featuresOf(r.Header), Request: c.body}
	if vendor.BaseURL != nil {
		key.Endpoint = vendor.BaseURL.Redacted()
	}
	slot, err := cache.Reserve(key)
	if err != nil {
		return false // the model's API will say what is wrong
	}
	c.slot = slot
	response := slot.Load()
	if response == nil {
		return false
	}
	c.reply.IsCached = true
	if c.api != wire.Responses {
		c.writeReply(w, response)
		return true
	}
	// Agents send reasoning back, so it must be what the vendor has encrypted.
	response.Content = slices.DeleteFunc(response.Content, func(b model.Block) bool { return b.Type == model.BlockThinking && b.Signature == "" })
	c.writeReply(w, response)
	c.reply.Response = wire.WithoutReasoning(response)
	return true
}

// isRepeatable reports whether a later run can be answered with the reply to this request: the reply refers to nothing
// that the vendor stores, and is one that a recording can contain.
func isRepeatable(api wire.API, body []byte) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			value := gjson.GetBytes(body, name)
			return value.Exists() && value.Type != gjson.Null && value.Type != gjson.False
		})
	}
	switch api {
	case wire.Messages:
		return !has("container")
	case wire.Chat:
		return !has("audio", "logprobs") && (!has("n") || gjson.GetBytes(body, "n").Int() == 1)
	default:
		return gjson.GetBytes(body, "store").Type == gjson.False && !has("previous_response_id", "conversation", "background", "top_logprobs")
	}
}

// featuresOf returns the headers that change what a vendor replies.
func featuresOf(header http.Header) string {
	var features []string
	for _, name := range []string{"Anthropic-Version", "Anthropic-Beta", "Openai-Beta"} {
		features = append(features, strings.Join(header.Values(name), ","))
	}
	return strings.Join(features, ";")
}

// cacheReply writes the reply of a model to the cache, unless it came from there or has an error.
func (c *call) cacheReply() {
	defer c.slot.Release()
	if c.slot == nil || c.reply.IsCached || !c.reply.IsComplete || c.reply.IsLeft || c.failure() != nil {
		return
	}
	response := c.reply.Response
	if c.reasoned != nil {
		response = c.reasoned
	}
	if response == nil || response.StopReason == "" || !c.canWrite(response) {
		return
	}
	err := c.slot.Store(replay.Call{API: string(c.api), Request: c.body, Model: c.modelName(), At: time.Now(), Response: response})
	if err != nil {
		c.endpoint.cfg.Log.Error("a reply could not be written to the cache", "call", c.number, "error", err)
	}
}

// canWrite reports whether a reply can be written in the format of the call's API: those of OpenAI have no place for
// blocks of other types.
func (c *call) canWrite(response *model.Response) bool {
	return c.api == wire.Messages || !slices.ContainsFunc(response.Content, func(b model.Block) bool {
		return b.Type != model.BlockText && b.Type != model.BlockToolUse && b.Type != model.BlockThinking
	})
}
