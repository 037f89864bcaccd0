// A client of the notebook's tools by the official SDK, as a test of them.
//
//   node client.mjs [TASK]            works as --agent 'mcp: …' starts it
//   node client.mjs --url URL [TOKEN] comes by itself over streamable HTTP
//
// It looks at all that it uses, and hands in the sum of 0 to 9. What is not as it
// should be ends it with status 1 and no answer.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [first, second, token] = process.argv.slice(2);
const remote = first === "--url";

const image = `
import struct, zlib
class Picture:
    def _repr_png_(self):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\\0" + bytes([255, 0, 0]) * 4 for _ in range(4))
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
Picture()
`;

async function transport() {
  if (remote) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    return new StreamableHTTPClientTransport(new URL(second), { requestInit: { headers } });
  }
  const { mcpServers } = JSON.parse(await readFile(".mcp.json", "utf8"));
  return new StdioClientTransport({ ...mcpServers.assay, stderr: "inherit" });
}

const client = new Client({ name: "assay-test", version: "1" });
const faults = [];
client.onerror = (error) => {
  console.error(`client: ${error}`); // of the connection, too: the call that waits for it only times out
  faults.push(String(error));
};
await client.connect(await transport());

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const words = (result) => result.content.map((piece) => piece.text ?? "").join("\n");
const run = (source, options) => call("create_cell", { position: 0, source, auto_run: true }, options);

async function tools() {
  const { tools } = await client.listTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  assert.equal(tools.length, remote ? 14 : 13, Object.keys(byName).join());
  assert.deepEqual(byName.create_cell.inputSchema.required, ["position", "source"]);
  assert.equal(byName.create_cell.inputSchema.properties.position.minimum, 0);
  assert.equal(byName.get_context.annotations.readOnlyHint, true);
  assert.equal(byName.delete_cell.annotations.destructiveHint, true);
  for (const tool of tools) assert.ok(tool.title && tool.description, tool.name);
}

// The task is told in every way that there is.
async function task() {
  let told = remote ? words(await call("get_task", {})) : (first ?? (await text(process.stdin)));
  assert.match(told, /Sum the whole numbers/);
  assert.ok(client.getInstructions().includes("live notebook"));
  const prompt = await client.getPrompt({ name: "task" });
  assert.equal(prompt.messages[0].content.text.trim(), told.trim());
  const resource = await client.readResource({ uri: "assay://task" });
  assert.equal(resource.contents[0].text.trim(), told.trim());
}

async function images() {
  const result = await run(image);
  const shown = result.content.find((piece) => piece.type === "image");
  assert.equal(shown?.mimeType, "image/png", words(result));
  assert.equal(Buffer.from(shown.data, "base64").toString("latin1").slice(1, 4), "PNG");
}

async function progress() {
  const seen = [];
  const result = await run("import time\ntime.sleep(2.2)\nprint('slept')", { onprogress: (p) => seen.push(p) });
  assert.match(words(result), /slept/);
  assert.ok(seen.length >= 2, JSON.stringify(seen));
  assert.match(seen[1].message, /the new cell runs, 2 s/);
  assert.equal(seen[1].progress, 2);
}

// A cancelled call stops its cell: the next one runs at once.
async function cancel() {
  const made = await call("create_cell", { position: 0, source: "import time\ntime.sleep(300)" });
  const cell = words(made).match(/cell_id: (\S+)/)[1];
  const aborting = new AbortController();
  const onprogress = ({ message }) => aborting.abort(message);
  const running = call("run_cell", { cell_id: cell }, { signal: aborting.signal, onprogress });
  await assert.rejects(running, new RegExp(`cell ${cell} runs, 1 s`));
  assert.match(words(await run("print('free again')")), /free again/);
  const notebook = await client.readResource({ uri: "assay://notebook" });
  assert.match(notebook.contents[0].text, /KeyboardInterrupt|error/);
}

async function mistakes() {
  const bad = await call("create_cell", { position: "first", source: "1" });
  assert.equal(bad.isError, true);
  assert.match(words(bad), /position/);
  const nowhere = await call("run_cell", { cell_id: "nowhere" });
  assert.equal(nowhere.isError, true);
  assert.match(words(nowhere), /nowhere/);
  const failing = await run("1 / 0");
  assert.equal(failing.isError ?? false, false);
  assert.match(words(failing), /ZeroDivisionError/);
  await assert.rejects(call("no_such_tool", {}), /no_such_tool/);
  const refused = await call("submit_response", { summary: "[EVAL_COMPLETE]", next_status: "finished" });
  assert.equal(refused.isError, true);
}

for (const check of [tools, task, images, progress, cancel, mistakes]) {
  await check();
  console.log(`${check.name}: as it should be`);
}
const total = words(await run("print(sum(range(10)))")).match(/^\d+$/m)[0];
const answer = await call("submit_response", {
  summary: `<EVAL_ANSWER>{"total": ${total}}</EVAL_ANSWER> [EVAL_COMPLETE]`,
  next_status: "done",
});
assert.equal(answer.isError ?? false, false, words(answer));
console.log("submitted");
await client.close();
