import { beforeEach, expect, test } from "vitest";
import { getToken, setToken } from "./client";
import { takeTokenFromAddress } from "./tokenFromAddress";

beforeEach(() => {
  sessionStorage.clear();
  setToken(null);
  history.replaceState(null, "", "/");
});

test("the token is taken out of the address, and is known after a reload", () => {
  history.replaceState(null, "", "/runs/one?tab=flow#token=a%2Bb");
  takeTokenFromAddress();
  expect(getToken()).toBe("a+b");
  expect(location.pathname + location.search + location.hash).toBe("/runs/one?tab=flow");
  setToken(null);
  takeTokenFromAddress();
  expect(getToken()).toBe("a+b");
});

test("an address without a token keeps its fragment", () => {
  history.replaceState(null, "", "/runs/one#cell-3");
  takeTokenFromAddress();
  expect(getToken()).toBeNull();
  expect(location.hash).toBe("#cell-3");
});
