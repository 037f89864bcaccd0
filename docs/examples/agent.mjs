// An agent in Node, without a package: assay run CASES --agent 'node agent.mjs'
//
// It runs one cell and submits what the cell printed. A real agent would call a
// model to decide what to do; the messages would be the same.

import net from "node:net";

const server = new net.Socket({ fd: Number(process.argv.at(-1)) }); // the last argument is the number of our socket
const pendingAnswers = new Map(); // tx_id: resolves the promise of the action
let resolveRun; // resolves the promise of the run with its cell_result
let actionCount = 0;

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
  return new Promise((resolve) => {
    pendingAnswers.set(tx_id, resolve);
    send({ type: "agent_action", action, params, tx_id });
  });
}

// answerQuery creates a cell, runs it, and submits what it printed.
async function answerQuery() {
  const source = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))";
  const ended = new Promise((resolve) => (resolveRun = resolve)); // the result may come before the answer to the action
  const cell = await sendAction("create_cell", { position: 0, cell_type: "code", source, auto_run: true });
  if (cell.status !== "success") throw new Error(cell.error);
  const answer = (await ended).logs.trim();
  const input = { summary: `<EVAL_ANSWER>${answer}</EVAL_ANSWER> [EVAL_COMPLETE]`, next_status: "done" };
  const content = [{ type: "tool_use", id: "t1", name: "submit_response", input }];
  send({ type: "agent_history_updated", entry: { type: "anthropic_message", role: "assistant", content } });
  send({ type: "agent_status", status: "done" });
}

// handleMessage handles one message of the server. It never waits.
function handleMessage(message) {
  if (message.type === "init") send({ type: "agent_status", status: "ready" });
  if (message.type === "agent_query") answerQuery().catch((e) => send({ type: "agent_error", error: String(e), fatal: true }));
  if (message.type === "agent_action_response") pendingAnswers.get(message.tx_id)?.(message);
  if (message.type === "kernel_message" && message.message.type === "cell_result") resolveRun?.(message.message);
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
