// An agent in Node, without a package: assay run CASES --agent 'node agent.mjs'
//
// It runs one cell and submits what the cell printed. A real agent would ask a
// model what to do; the messages would be the same.

import net from "node:net";

const wire = new net.Socket({ fd: Number(process.argv.at(-1)) }); // the last argument is our socket
const answers = new Map(); // tx_id: who waits for the answer
let ran; // who waits for the end of the run
let sent = 0;

// send writes one frame: the body's length, eight bytes little-endian, and the body.
function send(message) {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(8);
  head.writeBigInt64LE(BigInt(body.length));
  wire.write(Buffer.concat([head, body]));
}

// operate carries out an action and resolves with its answer.
function operate(action, params) {
  const tx_id = `tx_${++sent}`;
  return new Promise((resolve) => {
    answers.set(tx_id, resolve);
    send({ type: "agent_action", action, params, tx_id });
  });
}

async function work() {
  const source = "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))";
  const ended = new Promise((resolve) => (ran = resolve)); // its result may come before the answer
  const cell = await operate("create_cell", { position: 0, cell_type: "code", source, auto_run: true });
  if (cell.status !== "success") throw new Error(cell.error);
  const answer = (await ended).logs.trim();
  const input = { summary: `<EVAL_ANSWER>${answer}</EVAL_ANSWER> [EVAL_COMPLETE]`, next_status: "done" };
  const content = [{ type: "tool_use", id: "t1", name: "submit_response", input }];
  send({ type: "agent_history_updated", entry: { type: "anthropic_message", role: "assistant", content } });
  send({ type: "agent_status", status: "done" });
}

// take follows one message of the server. It never waits.
function take(message) {
  if (message.type === "init") send({ type: "agent_status", status: "ready" });
  if (message.type === "agent_query") work().catch((e) => send({ type: "agent_error", error: String(e), fatal: true }));
  if (message.type === "agent_action_response") answers.get(message.tx_id)?.(message);
  if (message.type === "kernel_message" && message.message.type === "cell_result") ran?.(message.message);
}

let read = Buffer.alloc(0);
wire.on("data", (chunk) => {
  read = Buffer.concat([read, chunk]);
  while (read.length >= 8 && read.length >= 8 + Number(read.readBigInt64LE())) {
    const end = 8 + Number(read.readBigInt64LE());
    take(JSON.parse(read.subarray(8, end).toString()));
    read = read.subarray(end);
  }
});
wire.on("close", () => process.exit()); // the end of the socket is the end of the agent
send({ type: "ready" });
