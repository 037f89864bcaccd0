// An agent in Node, without a package: assay run CASES --agent 'node agent.mjs'
//
// It runs one cell and submits what the cell printed. A real agent would call a
// model to decide what to do; the messages would be the same.

import net from "node:net";

const server = new net.Socket({ fd: Number(process.argv.at(-1)) }); // the last argument is the number of our socket
const arrived = new Map(); // answers by tx_id, and results of runs by cell_id, for which nothing waits yet
const waiting = new Map(); // by the same keys: resolves the promise of what waits
let actionCount = 0;
let working = Promise.resolve(); // until all queries so far are answered

// deliver gives a message to what waits for it, or keeps it.
function deliver(key, message) {
  const resolve = waiting.get(key);
  if (resolve === undefined) return arrived.set(key, message);
  waiting.delete(key); // the next run of a cell has the same key
  resolve(message);
}

// receive resolves with the next message of this key.
function receive(key) {
  const message = arrived.get(key);
  if (arrived.delete(key)) return Promise.resolve(message);
  return new Promise((resolve) => waiting.set(key, resolve));
}

// send writes one frame: the body's length, eight bytes little-endian, and the body.
function send(message) {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(8);
  head.writeBigInt64LE(BigInt(body.length));
  server.write(Buffer.concat([head, body]));
}

// sendAction sends an action and resolves with its answer.
function sendAction(action, params) {
  const tx_id = `tx_${++actionCount}`;
  send({ type: "agent_action", action, params, tx_id });
  return receive(tx_id);
}

// answerQuery creates a cell, runs it, and submits what it printed.
async function answerQuery() {
  const source = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))";
  const cell = await sendAction("create_cell", { position: 0, cell_type: "code", source, auto_run: true });
  if (cell.status !== "success") throw new Error(cell.error);
  const result = await receive(cell.cell_id); // which may have come before the answer to the action
  const input = { summary: `<EVAL_ANSWER>${result.logs.trim()}</EVAL_ANSWER> [EVAL_COMPLETE]`, next_status: "done" };
  const content = [{ type: "tool_use", id: "t1", name: "submit_response", input }];
  send({ type: "agent_history_updated", entry: { type: "anthropic_message", role: "assistant", content } });
  send({ type: "agent_status", status: "done" });
}

// handleMessage handles one message of the server. It never waits.
function handleMessage(message) {
  if (message.type === "init") send({ type: "agent_status", status: "ready" });
  if (message.type === "agent_query") working = working.then(answerQuery).catch((e) => send({ type: "agent_error", error: String(e), fatal: true }));
  if (message.type === "agent_action_response") deliver(message.tx_id, message);
  if (message.type === "kernel_message" && message.message.type === "cell_result") deliver(message.message.cell_id, message.message);
}

let received = Buffer.alloc(0);
server.on("data", (chunk) => {
  received = Buffer.concat([received, chunk]);
  while (received.length >= 8 && received.length >= 8 + Number(received.readBigInt64LE())) {
    const end = 8 + Number(received.readBigInt64LE());
    handleMessage(JSON.parse(received.subarray(8, end).toString()));
    received = received.subarray(end);
  }
});
server.on("close", () => process.exit()); // the agent ends with its connection
send({ type: "ready" });
