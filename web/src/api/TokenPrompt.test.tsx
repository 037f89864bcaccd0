import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { TokenPrompt } from "./TokenPrompt";

afterEach(cleanup);

test("submits the token that was typed, and nothing if the field is empty", () => {
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

test("shows a refusal and associates it with the field", () => {
  render(<TokenPrompt refused="" onToken={() => undefined} />);
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toBe("The server has refused this token.");
  const field = screen.getByLabelText("Token");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(field.getAttribute("aria-describedby")).toBe(alert.id);
});
