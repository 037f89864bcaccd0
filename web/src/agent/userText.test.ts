import { expect, test } from "vitest";
import { userTextOfServerText } from "./requests";

test.each([
  ["run_cell: the session has ended; managed_process_restart starts another with this notebook", /attempt has ended/],
  ["run_cell: another console owns this session; it may be watched, and asked for summaries", /^Another console owns/],
  ["there is no kernel to set_widget_value: the last one has ended: killed", /^There is no kernel/],
  ["managed_process_restart: a case is attached: the end of its kernel or agent is its outcome", /during an attempt/],
  ["edit_cell: source: expected a text", /^source: expected a text$/],
])("%s", (text, plain) => {
  expect(userTextOfServerText(text)).toMatch(plain);
  expect(userTextOfServerText(text)).not.toMatch(/[a-z]_[a-z]/);
});

test("a text that is not known stays as it is", () => {
  expect(userTextOfServerText("position: expected 0 to 3, found 9")).toBe("position: expected 0 to 3, found 9");
  expect(userTextOfServerText("my_name is not defined")).toBe("my_name is not defined");
});
