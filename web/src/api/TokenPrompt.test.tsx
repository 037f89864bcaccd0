import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { TokenPrompt } from "./TokenPrompt";

afterEach(cleanup);

test("gives what was typed, and nothing when nothing was", () => {
  const onToken = vi.fn();
  render(<TokenPrompt refused={null} onToken={onToken} />);
  const field = screen.getByLabelText<HTMLInputElement>("Token");
  expect(field.type).toBe("password");
  fireEvent.submit(field);
  expect(onToken).not.toHaveBeenCalled();
  fireEvent.change(field, { target: { value: "sesame" } });
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  expect(onToken).toHaveBeenCalledExactlyOnceWith("sesame");
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a refusal is said, and belongs to the field", () => {
  render(<TokenPrompt refused="" onToken={() => undefined} />);
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toBe("The server has refused that token.");
  const field = screen.getByLabelText("Token");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(field.getAttribute("aria-describedby")).toBe(alert.id);
});
