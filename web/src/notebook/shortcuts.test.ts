import { expect, test } from "vitest";
import { keyName, labelsOfShortcut } from "./keyName";
import { shortcuts } from "./shortcuts";

function nameOfPressedKey(key: string, more: Partial<KeyboardEvent> = {}) {
  return { key, code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more };
}

test("no key has two shortcuts in the same mode", () => {
  for (const where of ["command", "edit"] as const) {
    const names = shortcuts.filter((key) => key.mode === where || key.mode === "both").flatMap((key) => key.keys);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  }
});

test("keys that type text are not shortcuts in the editor", () => {
  const names = shortcuts.filter((key) => key.mode !== "command").flatMap((key) => key.keys);
  expect(names.filter((name) => [...name.replaceAll(" ", "")].length < 3)).toEqual([]);
});

test("keyName returns names as in the table of shortcuts", () => {
  expect(keyName(nameOfPressedKey("j", { code: "KeyJ" }))).toBe("j");
  expect(keyName(nameOfPressedKey("J", { code: "KeyJ", shiftKey: true }))).toBe("J");
  expect(keyName(nameOfPressedKey("?", { code: "Slash", shiftKey: true }))).toBe("?");
  expect(keyName(nameOfPressedKey("Enter", { ctrlKey: true }))).toBe("Mod-Enter");
  expect(keyName(nameOfPressedKey("Enter", { metaKey: true }))).toBe("Mod-Enter");
  expect(keyName(nameOfPressedKey("ArrowUp", { ctrlKey: true, shiftKey: true }))).toBe("Mod-Shift-ArrowUp");
  expect(keyName(nameOfPressedKey("F", { ctrlKey: true }))).toBe("Mod-f");
  expect(keyName(nameOfPressedKey("0"))).toBe("0");
});

test("Caps Lock and non-Latin layouts do not change key names", () => {
  expect(keyName(nameOfPressedKey("D", { code: "KeyD" }))).toBe("d");
  expect(keyName(nameOfPressedKey("в", { code: "KeyD" }))).toBe("d");
  expect(keyName(nameOfPressedKey("В", { code: "KeyD", shiftKey: true }))).toBe("D");
});

test("labelsOfShortcut returns the labels on the keyboard", () => {
  expect(labelsOfShortcut("Mod-Shift-ArrowUp", false)).toEqual(["Ctrl", "Shift", "↑"]);
  expect(labelsOfShortcut("Mod-Shift-ArrowUp", true)).toEqual(["⌘", "⇧", "↑"]);
  expect(labelsOfShortcut("d d", false)).toEqual(["d", "d"]);
  expect(labelsOfShortcut("Mod-/", false)).toEqual(["Ctrl", "/"]);
});
