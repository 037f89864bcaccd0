import { vi } from "vitest";
import type { Commands } from "../commands/commands";

/** Returns commands that only record their calls; those in overrides replace them. */
export function fakeCommands(overrides: Partial<Commands> = {}): Commands {
  return {
    canRun: true,
    createCell: vi.fn(async () => "new"),
    editCell: vi.fn(),
    deleteCell: vi.fn(async () => undefined),
    moveCell: vi.fn(async () => undefined),
    changeType: vi.fn(async () => "new"),
    runCell: vi.fn(),
    stopCell: vi.fn(),
    setWidget: vi.fn(async () => undefined),
    restart: vi.fn(),
    globals: vi.fn(async () => ({ summary: {} })),
    reactivity: vi.fn(async () => ({ summary: "", cell_reactivity: {} })),
    query: vi.fn(),
    cancel: vi.fn(),
    clearHistory: vi.fn(),
    startAttempt: vi.fn(),
    submitAnswer: vi.fn(async () => undefined),
    ...overrides,
  };
}
