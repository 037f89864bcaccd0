import { pythonLanguage } from "@codemirror/lang-python";
import { expect, test } from "vitest";
import { loadLanguage } from "./editor/languages";
import { tokensOf } from "./editor/tokens";
import { codePointNames, splitAtSpecialCharacters } from "./specialCharacters";
import { splitTokens } from "./splitTokens";

test("code is split into few tokens that contain all of it", () => {
  const code = "def f(x):\n    return [[[x]]]  # why\n";
  const tokens = tokensOf(code, pythonLanguage);
  expect(tokens.map(({ text }) => text).join("")).toBe(code);
  expect(tokens.find(({ text }) => text === "return")?.classes).toBe("tok-keyword");
  expect(tokensOf(`${"(".repeat(500)}\n\n\n`, pythonLanguage).length).toBeLessThan(4);
  expect(tokensOf(code, null)).toEqual([{ text: code, classes: "" }]);
});

test("languages are found by the names that kernels use", async () => {
  const [python, elisp, none] = await Promise.all([
    loadLanguage("Python3"),
    loadLanguage("elisp"),
    loadLanguage("__proto__"),
  ]);
  expect(python).toBe(pythonLanguage);
  expect(tokensOf("(defun f ()) ; why", elisp).at(-1)).toEqual({ text: "; why", classes: "tok-comment" });
  expect(none).toBeNull();
});

test("tokens are split at the ends of the search hit", () => {
  const tokens = [
    { text: "def", classes: "k" },
    { text: " total", classes: "" },
  ];
  expect(splitTokens(tokens, { id: "c", from: 2, to: 6, inOutputs: null })).toEqual([
    { text: "de", classes: "k", offset: 0, isHit: false },
    { text: "f", classes: "k", offset: 2, isHit: true },
    { text: " to", classes: "", offset: 3, isHit: true },
    { text: "tal", classes: "", offset: 6, isHit: false },
  ]);
  expect(splitTokens(tokens, null).map(({ text }) => text)).toEqual(["def", " total"]);
});

test("invisible and direction-changing characters are split off", () => {
  expect(splitAtSpecialCharacters("a\u202eb\tc\n")).toEqual([
    { text: "a", special: false },
    { text: "\u202e", special: true },
    { text: "b\tc\n", special: false },
  ]);
  expect(splitAtSpecialCharacters("\u202e\u0007")).toEqual([{ text: "\u202e\u0007", special: true }]);
  expect(codePointNames("\u202e\u0007\u202e")).toBe("U+202E, U+0007");
});
