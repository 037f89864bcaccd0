// An agent made with the official SDK of the Agent Client Protocol, as a test of Assay as its client.
//
//   node agent.mjs FILE   as --agent 'acp: …' starts it
//
// For each prompt it asks for permission, runs the code of FILE in a new cell of the notebook and submits the last
// line that the cell printed. A prompt "wait" ends when it is cancelled. What is not as it should be is an error of
// the prompt. The SDK checks every message of the client against the protocol's schema.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const file = process.argv[2];
const sessions = new Map(); // by id: {tools, cancel}

async function newSession({ params }) {
  assert.ok(isAbsolute(params.cwd), params.cwd);
  const [{ name, command, args, env }, ...others] = params.mcpServers;
  assert.equal(name, "assay");
  assert.deepEqual(others, []);
  const tools = new Client({ name: "assay-acp-agent", version: "1" });
  const variables = Object.fromEntries(env.map((v) => [v.name, v.value]));
  await tools.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...variables }, stderr: "inherit" }));
  const sessionId = `session ${sessions.size + 1}`;
  sessions.set(sessionId, { tools, cancel: () => {} });
  return { sessionId };
}

class Turn {
  constructor(sessionId, client) {
    this.session = sessions.get(sessionId);
    this.send = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
    this.ask = (toolCall, options) => client.request(acp.methods.client.session.requestPermission, { sessionId, toolCall, options });
    this.calls = 0;
  }

  say(kind, text) {
    return this.send({ sessionUpdate: kind, content: { type: "text", text } });
  }

  // Calls a tool of the notebook as most agents do: announced, with permission, and with its result.
  async call(name, input) {
    const toolCallId = `${name}-${++this.calls}`;
    await this.send({ sessionUpdate: "tool_call", toolCallId, title: `assay: ${name}`, kind: "other", status: "pending", rawInput: input });
    const { outcome } = await this.ask({ toolCallId }, [
      { optionId: "no", name: "No", kind: "reject_once" },
      { optionId: "yes", name: "Yes", kind: "allow_once" },
    ]);
    assert.deepEqual(outcome, { outcome: "selected", optionId: "yes" });
    await this.send({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    const { content, isError } = await this.session.tools.callTool({ name, arguments: input });
    await this.send({
      sessionUpdate: "tool_call_update", toolCallId, status: isError ? "failed" : "completed",
      content: content.map((piece) => ({ type: "content", content: piece })),
    });
    assert.ok(!isError, content[0].text);
    return content.map((piece) => piece.text ?? "").join("\n");
  }

  async solve() {
    await this.say("agent_thought_chunk", "The code is in a file.");
    await this.send({ sessionUpdate: "plan", entries: [{ content: "Run the code", priority: "high", status: "pending" }] });
    await this.send({ sessionUpdate: "tool_call", toolCallId: "read", title: `Read ${file}`, kind: "read", status: "completed", rawInput: { path: file } });
    await this.say("agent_message_chunk", "I run ");
    await this.say("agent_message_chunk", "it.");
    const printed = await this.call("create_cell", { position: 0, source: await readFile(file, "utf8"), auto_run: true });
    const answer = printed.trim().split("\n").at(-1);
    await this.call("submit_response", { summary: `<EVAL_ANSWER>${answer}</EVAL_ANSWER> [EVAL_COMPLETE]`, next_status: "done" });
  }

  async answer(text) {
    if (text.trim() === "wait") {
      await this.say("agent_message_chunk", "I wait.");
      await new Promise((resolve) => (this.session.cancel = resolve));
      return { stopReason: "cancelled" };
    }
    await this.solve();
    return { stopReason: "end_turn" };
  }
}

acp
  .agent({ name: "assay-acp-agent" })
  .onRequest(acp.methods.agent.initialize, ({ params }) => {
    assert.equal(params.protocolVersion, acp.PROTOCOL_VERSION);
    assert.equal(params.clientInfo.name, "assay");
    return { protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {}, agentInfo: { name: "assay-acp-agent", version: "1" } };
  })
  .onRequest(acp.methods.agent.session.new, newSession)
  .onRequest(acp.methods.agent.session.prompt, ({ params, client }) => new Turn(params.sessionId, client).answer(params.prompt[0].text))
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId).cancel())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
