import { expect, test, vi } from "vitest";
import { createNavigation } from "./navigation";

test("delivers a request once, also to a notebook that is mounted later", () => {
  const navigation = createNavigation();
  navigation.jumpTo("early");
  const [first, second] = [vi.fn(), vi.fn()];
  const stop = navigation.onRequest(first);
  navigation.onRequest(second);
  expect(first.mock.calls).toEqual([[{ jump: "early" }]]);
  expect(second).not.toHaveBeenCalled();
  stop();
  navigation.jumpTo("later");
  expect(first).toHaveBeenCalledTimes(1);
  expect(second.mock.calls).toEqual([[{ jump: "later" }]]);
});
