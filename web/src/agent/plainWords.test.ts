import { expect, test } from "vitest";
import { plainWords } from "./plainWords";

test.each([
  ["run_cell: the session has ended; managed_process_restart starts another with this notebook", /attempt has ended/],
  ["run_cell: another console owns this session; it may be watched, and asked for summaries", /^Another console owns/],
  ["there is no kernel to set_widget_value: the last one has ended: killed", /^There is no kernel/],
  ["managed_process_restart: a case is attached: the end of its kernel or agent is its outcome", /during an attempt/],
  ["edit_cell: source: expected a text", /^source: expected a text$/],
])("%s", (text, plain) => {
  expect(plainWords(text)).toMatch(plain);
  expect(plainWords(text)).not.toMatch(/[a-z]_[a-z]/);
});

test("what is not the server's own stays as it is", () => {
  expect(plainWords("position: expected 0 to 3, found 9")).toBe("position: expected 0 to 3, found 9");
  expect(plainWords("my_name is not defined")).toBe("my_name is not defined");
});
