import { expect, test } from "vitest";
import { entryFromJSON } from "../protocol/fakeMessages";
import type { Hop } from "../protocol/messages";
import { createStore } from "./store";

function stateAfterEntries(...messages: [Hop, number, unknown][]) {
  const store = createStore();
  store.apply(messages.map(([hop, seq, msg]) => entryFromJSON(seq, hop, msg)));
  return store.get();
}

const agentExitMessage = { type: "managed_process_exit", name: "agent", exit_code: 0, signal: "" };
const agentStatusMessage = (word: string) => ({ type: "agent_status", status: word });

test("a late status of an agent that has ended is ignored", () => {
  const { agent } = stateAfterEntries(
    ["server>console", 0, agentExitMessage],
    ["agent>server", 5, agentStatusMessage("thinking")],
  );
  expect(agent.status).toBe("gone");
});

test("an agent that starts after another has ended is ready", () => {
  const { agent } = stateAfterEntries(
    ["server>console", 0, agentExitMessage],
    ["agent>server", 5, agentStatusMessage("ready")],
    ["agent>server", 6, agentStatusMessage("thinking")],
  );
  expect(agent.status).toBe("thinking");
});

test("a grader's error is kept as text, also if it is {kind, text}", () => {
  const graders = [{ error: { kind: "timeout", text: "no answer" } }, { error: "why" }, { error: null }, { error: {} }];
  const { verdict } = stateAfterEntries(["server>console", 0, { type: "eval_result", graders }]);
  expect(verdict?.graders.map((grader) => grader.error)).toEqual(["timeout: no answer", "why", null, "of no kind"]);
});
