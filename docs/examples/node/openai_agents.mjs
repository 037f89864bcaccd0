// An agent on the OpenAI Agents SDK, with the tools of the notebook:
//   npm ci && assay run CASES --model MODEL --agent 'mcp: node openai_agents.mjs'
// The SDK finds the model by OPENAI_BASE_URL and OPENAI_API_KEY.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Agent, MCPServerStdio, run, setTracingDisabled } from "@openai/agents";

setTracingDisabled(true); // traces would be sent to OpenAI
const { mcpServers } = JSON.parse(await readFile(".mcp.json", "utf8"));
const notebook = new MCPServerStdio({ ...mcpServers.assay, timeout: 600_000 });
await notebook.connect();
const agent = new Agent({
  name: "solver",
  model: "assay",
  mcpServers: [notebook],
  toolUseBehavior: { stopAtToolNames: ["submit_response"] },
});
const result = await run(agent, await text(process.stdin), { maxTurns: 100 });
console.log(result.finalOutput);
await notebook.close();
