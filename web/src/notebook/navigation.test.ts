import { expect, test, vi } from "vitest";
import { createNavigation } from "./navigation";

test("a jump is followed, also by a notebook that is drawn later, and once", () => {
  const navigation = createNavigation();
  navigation.jumpTo("early");
  const [first, second] = [vi.fn(), vi.fn()];
  const stop = navigation.onJump(first);
  navigation.onJump(second);
  expect(first.mock.calls).toEqual([["early", false]]);
  expect(second).not.toHaveBeenCalled();
  stop();
  navigation.jumpTo("later");
  expect(first).toHaveBeenCalledTimes(1);
  expect(second.mock.calls).toEqual([["later", false]]);
});

test("a cell that was just made is opened", () => {
  const navigation = createNavigation();
  const jumped = vi.fn();
  navigation.onJump(jumped);
  navigation.editAt("new");
  expect(jumped.mock.calls).toEqual([["new", true]]);
});
