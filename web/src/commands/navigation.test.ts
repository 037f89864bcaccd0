import { expect, test, vi } from "vitest";
import { createNavigation } from "./navigation";

test("a jump is followed, also by a notebook that is drawn later, and once", () => {
  const navigation = createNavigation();
  navigation.jumpTo("early");
  const [first, second] = [vi.fn(), vi.fn()];
  const stop = navigation.onWish(first);
  navigation.onWish(second);
  expect(first.mock.calls).toEqual([[{ jump: "early" }]]);
  expect(second).not.toHaveBeenCalled();
  stop();
  navigation.jumpTo("later");
  expect(first).toHaveBeenCalledTimes(1);
  expect(second.mock.calls).toEqual([[{ jump: "later" }]]);
});
