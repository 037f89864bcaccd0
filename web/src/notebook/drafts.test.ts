import { expect, test, vi } from "vitest";
import { createStore } from "../store/store";
import { createDrafts } from "./drafts";
import { fakeCell, setSource, stateOf } from "./fakeNotebook";

function setup(source = "a") {
  const store = createStore(stateOf([fakeCell("c", source)]));
  const say = vi.fn();
  let time = 0;
  const drafts = createDrafts(store, say, () => time);
  drafts.followStore();
  return { store, say, drafts, wait: (ms: number) => (time += ms) };
}

test("what is typed is shown and told on", () => {
  const { drafts, say } = setup();
  drafts.recordEdit("c", "ab");
  expect(drafts.text("c")).toBe("ab");
  expect(say.mock.calls).toEqual([["c", "ab"]]);
  expect(drafts.hasUnsavedText("c")).toBe(true);
});

test("an echo of what was typed earlier does not undo what was typed since", () => {
  const { drafts, store } = setup();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "abc");
  setSource(store, "c", "ab");
  expect(drafts.text("c")).toBe("abc");
  setSource(store, "c", "abc");
  expect(drafts.text("c")).toBe("abc");
  expect(drafts.hasUnsavedText("c")).toBe(false);
});

test("an echo does not undo a return to the text that there was before", () => {
  const { drafts, store } = setup();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "a");
  setSource(store, "c", "ab");
  expect(drafts.text("c")).toBe("a");
});

test("what others write is shown where nothing of ours is open", () => {
  const { drafts, store } = setup();
  drafts.recordEdit("c", "ab");
  setSource(store, "c", "ab");
  setSource(store, "c", "theirs");
  expect(drafts.text("c")).toBe("theirs");
});

test("what others write does not take the place of what is not stored yet", () => {
  const { drafts, store } = setup();
  drafts.recordEdit("c", "mine");
  setSource(store, "c", "theirs");
  expect(drafts.text("c")).toBe("mine");
  drafts.setLocally("c", "theirs");
  expect(drafts.text("c")).toBe("theirs");
  expect(drafts.hasUnsavedText("c")).toBe(false);
});

test("an echo that never came is not waited for", () => {
  const { drafts, store, wait } = setup();
  drafts.recordEdit("c", "ab");
  drafts.recordEdit("c", "a"); // nothing has changed in the end: the server tells of nothing
  wait(60_000);
  setSource(store, "c", "ab");
  expect(drafts.text("c")).toBe("ab");
});

test("line ends of another kind are no change", () => {
  const { drafts, store, say } = setup("a\r\nb");
  expect(drafts.text("c")).toBe("a\nb");
  setSource(store, "c", "a\nb\n");
  expect(drafts.text("c")).toBe("a\nb\n");
  expect(say).not.toHaveBeenCalled();
});

test("a source that is no text is an empty one", () => {
  const { drafts } = setup(7 as unknown as string);
  expect(drafts.text("c")).toBe("");
  expect(drafts.text("__proto__")).toBe("");
});

test("those who listen hear of what others changed, and not of echoes", () => {
  const { drafts, store } = setup();
  drafts.recordEdit("c", "ab");
  const heard = vi.fn();
  drafts.subscribe(heard);
  setSource(store, "c", "ab");
  expect(heard).not.toHaveBeenCalled();
  setSource(store, "c", "theirs");
  expect(heard).toHaveBeenCalledTimes(1);
});
