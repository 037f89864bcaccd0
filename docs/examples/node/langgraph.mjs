// An agent on LangGraph, with the tools of the notebook:
//   npm ci && assay run CASES --model MODEL --agent 'mcp: node langgraph.mjs'
// The model is found by ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { ChatAnthropic } from "@langchain/anthropic";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { createAgent } from "langchain";

const { mcpServers } = JSON.parse(await readFile(".mcp.json", "utf8"));
const notebook = new MultiServerMCPClient({ mcpServers, defaultToolTimeout: 600_000 });
const tools = await notebook.getTools();
for (const tool of tools) tool.returnDirect = tool.name === "submit_response"; // which ends the work
const agent = createAgent({ model: new ChatAnthropic({ model: "assay", maxTokens: 16_000 }), tools });
const task = { role: "user", content: await text(process.stdin) };
const { messages } = await agent.invoke({ messages: [task] }, { recursionLimit: 200 });
console.log(messages.at(-1).text);
await notebook.close();
