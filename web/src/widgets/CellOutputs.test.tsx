import { act, render } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Output } from "../protocol/messages";
import type { Execution } from "../store/state";
import { createStore, StoreProvider } from "../store/store";
import { CellOutputs } from "./CellOutputs";

const streamOutput = (text: string): Output => ({ output_type: "stream", name: "stdout", text });

function executionWithOutputs(outputs: readonly Output[]): Execution {
  return { status: "ran", pending: false, started: false, sequencer: 1, count: 1, outputs, widgets: {} };
}

test("CellOutputs shows the outputs of its cell as they arrive", () => {
  const store = createStore();
  const set = (id: string, text: string) =>
    act(() =>
      store.update((s) => ({
        ...s,
        notebook: {
          ...s.notebook,
          executions: { ...s.notebook.executions, [id]: executionWithOutputs([streamOutput(text)]) },
        },
      })),
    );
  const { container } = render(
    <StoreProvider value={store}>
      <CellOutputs cellId="a" />
    </StoreProvider>,
  );
  expect(container.textContent).toBe("");
  set("b", "other");
  expect(container.textContent).toBe("");
  set("a", "one");
  set("a", "one two\rONE");
  expect(container.textContent).toBe("ONE two");
});
