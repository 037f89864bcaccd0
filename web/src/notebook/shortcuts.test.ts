import { expect, test } from "vitest";
import { keyName, labelsOfShortcut } from "./keyName";
import { shortcuts } from "./shortcuts";

function pressed(key: string, more: Partial<KeyboardEvent> = {}) {
  return { key, code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more };
}

test("no key means two things in one place", () => {
  for (const where of ["command", "edit"] as const) {
    const names = shortcuts.filter((key) => key.mode === where || key.mode === "both").flatMap((key) => key.keys);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  }
});

test("keys that are typed mean nothing while text is edited", () => {
  const names = shortcuts.filter((key) => key.mode !== "command").flatMap((key) => key.keys);
  expect(names.filter((name) => [...name.replaceAll(" ", "")].length < 3)).toEqual([]);
});

test("names keys as the table does", () => {
  expect(keyName(pressed("j", { code: "KeyJ" }))).toBe("j");
  expect(keyName(pressed("J", { code: "KeyJ", shiftKey: true }))).toBe("J");
  expect(keyName(pressed("?", { code: "Slash", shiftKey: true }))).toBe("?");
  expect(keyName(pressed("Enter", { ctrlKey: true }))).toBe("Mod-Enter");
  expect(keyName(pressed("Enter", { metaKey: true }))).toBe("Mod-Enter");
  expect(keyName(pressed("ArrowUp", { ctrlKey: true, shiftKey: true }))).toBe("Mod-Shift-ArrowUp");
  expect(keyName(pressed("F", { ctrlKey: true }))).toBe("Mod-f");
  expect(keyName(pressed("0"))).toBe("0");
});

test("neither Caps Lock nor another alphabet changes what a key is", () => {
  expect(keyName(pressed("D", { code: "KeyD" }))).toBe("d");
  expect(keyName(pressed("в", { code: "KeyD" }))).toBe("d");
  expect(keyName(pressed("В", { code: "KeyD", shiftKey: true }))).toBe("D");
});

test("writes keys as a keyboard has them", () => {
  expect(labelsOfShortcut("Mod-Shift-ArrowUp", false)).toEqual(["Ctrl", "Shift", "↑"]);
  expect(labelsOfShortcut("Mod-Shift-ArrowUp", true)).toEqual(["⌘", "⇧", "↑"]);
  expect(labelsOfShortcut("d d", false)).toEqual(["d", "d"]);
  expect(labelsOfShortcut("Mod-/", false)).toEqual(["Ctrl", "/"]);
});
