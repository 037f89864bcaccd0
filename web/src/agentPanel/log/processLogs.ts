import { read } from "../../json/schema";
import { parseTimeMs } from "../../json/values";
import { processOutputSchema } from "../../protocol/api.gen";

// The output of the agent and kernel processes. docs/api.md describes the messages of /printed.

export type ProcessName = "agent" | "kernel";

export const processNames: readonly ProcessName[] = ["agent", "kernel"];

export interface LogLine {
  n: number;
  /** In milliseconds since 1970; null if unknown. */
  at: number | null;
  /** The number of the process that printed the line; a restarted agent has another one. */
  process: number;
  text: string;
}

/** The newest output lines of each process, oldest first. */
export type ProcessLogs = Readonly<Record<ProcessName, readonly LogLine[]>>;

export const emptyLogs: ProcessLogs = { agent: [], kernel: [] };

/** Number of lines that are kept for each process. */
const maxLinesPerProcess = 1000;

/** Parses a message of /printed. Malformed lines are left out. */
export function parseLogMessage(data: unknown): ProcessLogs {
  const logs: Record<ProcessName, LogLine[]> = { agent: [], kernel: [] };
  for (const { n, at, name, process, text } of read(processOutputSchema, parseJSON(data)).lines) {
    const child = processNames.find((one) => one === name);
    if (child !== undefined) logs[child].push({ n, at: parseTimeMs(at), process, text });
  }
  return logs;
}

/** Returns the logs with the new lines appended, at most 1000 lines for each process. */
export function appendLogs(before: ProcessLogs, newLogs: ProcessLogs): ProcessLogs {
  const appended = (child: ProcessName) =>
    newLogs[child].length === 0 ? before[child] : [...before[child], ...newLogs[child]].slice(-maxLinesPerProcess);
  return { agent: appended("agent"), kernel: appended("kernel") };
}

/** Groups the lines by process, in order. */
export function groupByProcess(lines: readonly LogLine[]): readonly (readonly LogLine[])[] {
  const groups: LogLine[][] = [];
  for (const line of lines) {
    const part = groups.at(-1);
    if (part?.[0]?.process === line.process) part.push(line);
    else groups.push([line]);
  }
  return groups;
}

function parseJSON(data: unknown): unknown {
  try {
    return JSON.parse(String(data));
  } catch {
    return null;
  }
}
