import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Notices } from "./Notices";

test("the action of a notice runs once and dismisses it", () => {
  const run = vi.fn();
  const dismiss = vi.fn();
  const notice = {
    id: 7,
    kind: "error" as const,
    text: "The text was not stored.",
    action: { label: "Make a cell of it", run },
  };
  render(<Notices notices={[notice]} onDismiss={dismiss} />);
  fireEvent.click(screen.getByRole("button", { name: "Make a cell of it" }));
  expect(run).toHaveBeenCalledTimes(1);
  expect(dismiss).toHaveBeenCalledWith(7);
});
