// Talks to the servers at a URL through the SDKs of both vendors, once for each server, case,
// API and mode, and prints a JSON object: what the SDK returned for each turn, in one form
// for all APIs, by the path of the call. A turn with tool calls is followed by one with
// their results.
//
// usage: node calls.mjs URL SERVER,... CASE,...
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const [url, servers, cases] = process.argv.slice(2)
const tool = { name: 'f', description: 'd', parameters: { type: 'object', properties: { x: { type: 'integer' } } } }
const parse = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

// Each returns a function that makes one call with what an earlier call returned and the
// results of its tools, and returns the turn.
const conversations = {
  messages(base, isStreamed) {
    const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0 })
    const messages = [{ role: 'user', content: 'go' }]
    return async (last) => {
      if (last) {
        const results = last.calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: 'result' }))
        messages.push({ role: 'assistant', content: last.raw }, { role: 'user', content: results })
      }
      const tools = [{ name: tool.name, description: tool.description, input_schema: tool.parameters }]
      const request = { model: 'm', max_tokens: 100, messages, tools }
      let streamed = ''
      const call = async () => {
        if (!isStreamed) return client.messages.create(request)
        const stream = client.messages.stream(request)
        stream.on('text', (text) => (streamed += text))
        return stream.finalMessage()
      }
      const { content, stop_reason, usage } = await call()
      const of = (type) => content.filter((block) => block.type === type)
      return {
        raw: content,
        streamed,
        text: of('text').map((block) => block.text).join(''),
        thinking: of('thinking').map((block) => block.thinking).join(''),
        calls: of('tool_use').map(({ id, name, input }) => ({ id, name, input })),
        stop: stop_reason,
        usage: [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens],
      }
    }
  },

  chat(base, isStreamed) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0 })
    const messages = [{ role: 'system', content: 'You are' }, { role: 'user', content: 'go' }]
    return async (last) => {
      if (last) messages.push(last.raw, ...last.calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: 'result' })))
      const request = { model: 'm', messages, tools: [{ type: 'function', function: tool }] }
      let streamed = ''
      let reasoning = ''
      const call = async () => {
        if (!isStreamed) return client.chat.completions.create(request)
        const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } })
        stream.on('content', (text) => (streamed += text))
        stream.on('chunk', (chunk) => (reasoning += chunk.choices[0]?.delta.reasoning_content ?? ''))
        return stream.finalChatCompletion()
      }
      const { choices, usage } = await call()
      const { message, finish_reason } = choices[0]
      const { cached_tokens, cache_write_tokens } = usage.prompt_tokens_details
      return {
        raw: message,
        streamed,
        text: message.content ?? '',
        thinking: isStreamed ? reasoning : (message.reasoning_content ?? ''),
        calls: (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, input: parse(call.function.arguments) })),
        stop: finish_reason,
        usage: [usage.prompt_tokens - cached_tokens - cache_write_tokens, usage.completion_tokens, cached_tokens, cache_write_tokens],
      }
    }
  },

  responses(base, isStreamed) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0 })
    const input = [{ role: 'user', content: 'go' }]
    return async (last) => {
      if (last) input.push(...last.raw, ...last.calls.map((call) => ({ type: 'function_call_output', call_id: call.id, output: 'result' })))
      const tools = [{ type: 'function', strict: false, ...tool }]
      const request = { model: 'm', instructions: 'You are', input, tools, store: false, include: ['reasoning.encrypted_content'] }
      let streamed = ''
      const call = async () => {
        if (!isStreamed) return client.responses.create(request)
        const stream = client.responses.stream(request)
        stream.on('response.output_text.delta', (event) => (streamed += event.delta))
        return stream.finalResponse()
      }
      const response = await call()
      if (response.error) throw Object.assign(new Error(response.error.message), { code: response.error.code })
      const { output, usage } = response
      const { cached_tokens, cache_write_tokens } = usage.input_tokens_details
      const of = (type) => output.filter((item) => item.type === type)
      return {
        raw: output,
        streamed,
        text: response.output_text,
        thinking: of('reasoning').flatMap((item) => item.summary.map((part) => part.text)).join(''),
        calls: of('function_call').map((call) => ({ id: call.call_id, name: call.name, input: parse(call.arguments) })),
        stop: response.incomplete_details?.reason ?? response.status,
        usage: [usage.input_tokens - cached_tokens - cache_write_tokens, usage.output_tokens, cached_tokens, cache_write_tokens],
      }
    }
  },
}

const out = {}
for (const server of servers.split(','))
  for (const name of cases.split(','))
    for (const [api, converse] of Object.entries(conversations))
      for (const mode of ['streamed', 'whole']) {
        const path = [server, name, api, mode].join('/')
        const next = converse(`${url}/${path}`, mode === 'streamed')
        const turns = (out[path] = [])
        try {
          let last
          do {
            last = await next(last)
            const { raw, streamed, ...turn } = last
            turns.push(turn)
            if (mode === 'streamed' && streamed !== turn.text) throw new Error(`streamed ${JSON.stringify(streamed)}`)
          } while (last.calls.length > 0 && last.stop !== 'max_tokens' && last.stop !== 'length' && last.stop !== 'max_output_tokens')
        } catch (error) {
          turns.push({ error: { status: error.status ?? 0, type: error.error?.error?.type ?? error.type ?? error.code ?? '', message: error.message } })
        }
      }
console.log(JSON.stringify(out))
