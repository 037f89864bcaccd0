import { expect, test, vi } from "vitest";
import { createStore } from "../store/store";
import { createCellDrafts } from "./drafts";
import { fakeCell, setSourceInStore, stateOfCells } from "./fakeNotebook";

function setupDrafts(source = "a") {
  const store = createStore(stateOfCells([fakeCell("c", source)]));
  const say = vi.fn();
  let time = 0;
  const drafts = createCellDrafts(store, say, () => time);
  drafts.followStore();
  return { store, say, drafts, wait: (ms: number) => (time += ms) };
}

test("typed text is shown and sent", () => {
  const { drafts, say } = setupDrafts();
  drafts.recordEdit("c", "ab");
  expect(drafts.text("c")).toBe("ab");
  expect(say.mock.calls).toEqual([["c", "ab"]]);
  expect(drafts.hasUnsavedText("c")).toBe(true);
});

test("an echo of an earlier text does not replace later text", () => {
  const { drafts, store } = setupDrafts();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "abc");
  setSourceInStore(store, "c", "ab");
  expect(drafts.text("c")).toBe("abc");
  setSourceInStore(store, "c", "abc");
  expect(drafts.text("c")).toBe("abc");
  expect(drafts.hasUnsavedText("c")).toBe(false);
});

test("an echo does not replace text that was changed back", () => {
  const { drafts, store } = setupDrafts();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "a");
  setSourceInStore(store, "c", "ab");
  expect(drafts.text("c")).toBe("a");
});

test("a change by others is shown if there is no unsent text", () => {
  const { drafts, store } = setupDrafts();
  drafts.recordEdit("c", "ab");
  setSourceInStore(store, "c", "ab");
  setSourceInStore(store, "c", "theirs");
  expect(drafts.text("c")).toBe("theirs");
});

test("a change by others does not replace unsent text", () => {
  const { drafts, store } = setupDrafts();
  drafts.recordEdit("c", "mine");
  setSourceInStore(store, "c", "theirs");
  expect(drafts.text("c")).toBe("mine");
  drafts.setLocally("c", "theirs");
  expect(drafts.text("c")).toBe("theirs");
  expect(drafts.hasUnsavedText("c")).toBe(false);
});

test("a missing echo is no longer expected after its timeout", () => {
  const { drafts, store, wait } = setupDrafts();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "a"); // nothing has changed in the end: the server tells of nothing
  wait(60_000);
  setSourceInStore(store, "c", "ab");
  expect(drafts.text("c")).toBe("ab");
});

test("different line ends are not a change", () => {
  const { drafts, store, say } = setupDrafts("a\r\nb");
  expect(drafts.text("c")).toBe("a\nb");
  setSourceInStore(store, "c", "a\nb\n");
  expect(drafts.text("c")).toBe("a\nb\n");
  expect(say).not.toHaveBeenCalled();
});

test("a source that is not a string counts as empty", () => {
  const { drafts } = setupDrafts(7 as unknown as string);
  expect(drafts.text("c")).toBe("");
  expect(drafts.text("__proto__")).toBe("");
});

test("subscribers are notified of changes by others and not of echoes", () => {
  const { drafts, store } = setupDrafts();
  drafts.recordEdit("c", "ab");
  const heard = vi.fn();
  drafts.subscribe(heard);
  setSourceInStore(store, "c", "ab");
  expect(heard).not.toHaveBeenCalled();
  setSourceInStore(store, "c", "theirs");
  expect(heard).toHaveBeenCalledTimes(1);
});
