import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";

/** Returns a tool's name without the prefix that MCP adds for its server. */
export function toolName(name: unknown): string {
  const text = oneLine(textOrJSON(name), 80) || "tool";
  return /^mcp__.+?__(.+)$/.exec(text)?.[1] ?? text;
}

/** Reports whether a tool submits the answer of the case. Such a call may never get a result. */
export function isSubmissionTool(name: unknown): boolean {
  return toolName(name) === "submit_response";
}
