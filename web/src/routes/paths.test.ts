import { expect, test } from "vitest";
import { comparePath, readName } from "./paths";

test("names come out of an address as they went in", () => {
  const a = { run: "50% of/it&b=1#?", attempt: "a+b ö" };
  const parameters = new URL(comparePath(a, null), "http://x").searchParams;
  expect(readName(parameters.get("a"))).toEqual(a);
  expect(parameters.get("b")).toBeNull();
  expect([null, "", "one", "a/b/c", "/b"].map(readName)).toEqual([null, null, null, null, null]);
});
