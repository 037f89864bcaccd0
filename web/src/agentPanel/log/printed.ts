import { read } from "../../json/schema";
import { timeOf } from "../../json/values";
import { processOutputSchema } from "../../protocol/api.gen";

// What agent and kernel have printed, as docs/api.md says the server tells it.

export type Child = "agent" | "kernel";

export const children: readonly Child[] = ["agent", "kernel"];

export interface PrintedLine {
  n: number;
  /** In milliseconds since 1970; null: that is not known. */
  at: number | null;
  /** Which process it was: another number, another one. */
  process: number;
  text: string;
}

/** The newest lines of each, in order. */
export type Printed = Readonly<Record<Child, readonly PrintedLine[]>>;

export const nothing: Printed = { agent: [], kernel: [] };

/** How many lines of each are kept. */
const most = 1000;

/** Parses a message of /printed. Malformed lines are left out. */
export function linesOf(data: unknown): Printed {
  const found: Record<Child, PrintedLine[]> = { agent: [], kernel: [] };
  for (const { n, at, name, process, text } of read(processOutputSchema, parsed(data)).lines) {
    const child = children.find((one) => one === name);
    if (child !== undefined) found[child].push({ n, at: timeOf(at), process, text });
  }
  return found;
}

/** What there is when more has been printed. */
export function withMore(before: Printed, more: Printed): Printed {
  const join = (child: Child) =>
    more[child].length === 0 ? before[child] : [...before[child], ...more[child]].slice(-most);
  return { agent: join("agent"), kernel: join("kernel") };
}

/** The lines by the processes that have printed them, in order. */
export function byProcess(lines: readonly PrintedLine[]): readonly (readonly PrintedLine[])[] {
  const parts: PrintedLine[][] = [];
  for (const line of lines) {
    const part = parts.at(-1);
    if (part?.[0]?.process === line.process) part.push(line);
    else parts.push([line]);
  }
  return parts;
}

function parsed(data: unknown): unknown {
  try {
    return JSON.parse(String(data));
  } catch {
    return null;
  }
}
