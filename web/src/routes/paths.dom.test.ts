import { beforeEach, expect, test } from "vitest";
import { comparePath, consoleAddress, parseAttemptName, storeConsoleAddress } from "./paths";

test("round-trips the names of attempts through an address", () => {
  const a = { run: "50% of/it&b=1#?", attempt: "a+b ö" };
  const parameters = new URL(comparePath(a, null), "http://x").searchParams;
  expect(parseAttemptName(parameters.get("a"))).toEqual(a);
  expect(parameters.get("b")).toBeNull();
  expect([null, "", "one", "a/b/c", "/b"].map(parseAttemptName)).toEqual([null, null, null, null, null]);
});

beforeEach(() => sessionStorage.clear());

test("returns to the session and the role that were shown", () => {
  expect(consoleAddress()).toBe("/");
  storeConsoleAddress({ pathname: "/", search: "?session=two&role=view" });
  expect(consoleAddress()).toBe("/?session=two&role=view");
});

test("ignores a stored value that is not an address of the console", () => {
  sessionStorage.setItem("assay.console.address", "//elsewhere.example");
  expect(consoleAddress()).toBe("/");
});
