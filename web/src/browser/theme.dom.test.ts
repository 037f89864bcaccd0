import { afterEach, expect, it, vi } from "vitest";
import { setTheme } from "./theme";

afterEach(() => vi.unstubAllGlobals());

it("changes the theme where storage is forbidden", () => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: forbidden, setItem: forbidden });
  setTheme("dark");
  expect(document.documentElement.dataset.theme).toBe("dark");
});
