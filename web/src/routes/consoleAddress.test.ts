import { beforeEach, expect, test } from "vitest";
import { consoleAddress, keepConsoleAddress } from "./consoleAddress";

beforeEach(() => sessionStorage.clear());

test("the way back leads to the session and the role that were shown", () => {
  expect(consoleAddress()).toBe("/");
  keepConsoleAddress({ pathname: "/", search: "?session=two&role=view" });
  expect(consoleAddress()).toBe("/?session=two&role=view");
});

test("what is stored and is no address of a console is passed over", () => {
  sessionStorage.setItem("assay.console.address", "//elsewhere.example");
  expect(consoleAddress()).toBe("/");
});
