import { expect, test } from "vitest";
import { entryOf } from "../protocol/fakeMessages";
import type { Hop } from "../protocol/messages";
import { createStore } from "./store";

function after(...messages: [Hop, number, unknown][]) {
  const store = createStore();
  store.apply(messages.map(([hop, seq, msg]) => entryOf(seq, hop, msg)));
  return store.get();
}

const exit = { type: "managed_process_exit", name: "agent", exit_code: 0, signal: "" };
const status = (word: string) => ({ type: "agent_status", status: word });

test("an agent that is gone does not think again when its last word is heard late", () => {
  const { agent } = after(["server>console", 0, exit], ["agent>server", 5, status("thinking")]);
  expect(agent.status).toBe("gone");
});

test("the agent that comes after it is ready", () => {
  const { agent } = after(
    ["server>console", 0, exit],
    ["agent>server", 5, status("ready")],
    ["agent>server", 6, status("thinking")],
  );
  expect(agent.status).toBe("thinking");
});

test("why a grader came to no verdict is kept, as a text or as kind and text", () => {
  const graders = [{ error: { kind: "timeout", text: "no answer" } }, { error: "why" }, { error: null }, { error: {} }];
  const { verdict } = after(["server>console", 0, { type: "eval_result", graders }]);
  expect(verdict?.graders.map((grader) => grader.error)).toEqual(["timeout: no answer", "why", null, "of no kind"]);
});
