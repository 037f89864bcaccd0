import { duration, percent } from "../format/format";
import { anyObject, number, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";

/** An event of the agent in words. */
export interface EventWords {
  /** What happened. */
  what: string;
  /** What is to be known of it; "" for nothing. */
  more: string;
  /** Something is not as it should be. */
  warn: boolean;
}

type Metadata = Readonly<Record<string, unknown>>;

const longest = 400;

/** What an event says, by its type; one that is not known says its own type and text. */
export function eventWords(event: string, text: string, metadata: unknown): EventWords {
  const fields = read(anyObject, metadata);
  const said = oneLine(textOrJSON(text), longest);
  switch (event) {
    case "retry":
      return { what: "The model did not answer", more: retryWords(fields, said), warn: true };
    case "waiting":
      return waitingWords(fields);
    case "compacted":
      return { what: "Conversation shortened", more: said || "its oldest part was left out", warn: false };
    case "limit":
      return { what: "Limit reached", more: said || oneLine(textOrJSON(fields.limit), 80), warn: true };
    case "exit":
      return { what: said || "The agent has ended.", more: "", warn: endedBadly(fields) };
    case "stopped":
      return { what: said || "The agent was stopped.", more: "", warn: false };
    case "restarted":
      return { what: said || "The agent was restarted.", more: "", warn: false };
    case "cancelled":
      return { what: "Cancelled", more: said, warn: false };
    case "ended":
      return { what: "Ended", more: said, warn: false };
    case "tick":
      return { what: tickWords(fields), more: said, warn: read(anyObject, fields.ticks ?? fields).success === false };
    default:
      return { what: oneLine(textOrJSON(event), 60) || "Event", more: said, warn: false };
  }
}

/** The server ends an agent by SIGTERM when it is not needed any more. */
export function endedBadly(fields: Metadata): boolean {
  const signal = textOrJSON(fields.signal);
  if (signal === "SIGTERM") return false;
  return signal !== "" || (number.parse(fields.exit_code) ?? 0) !== 0;
}

function retryWords(fields: Metadata, said: string): string {
  const attempt = number.parse(fields.attempt) ?? null;
  const status = number.parse(fields.status) ?? null;
  const parts = [oneLine(textOrJSON(fields.error), longest) || said];
  if (status !== null && status > 0) parts.push(`status ${status}`);
  if (attempt !== null) parts.push(`try ${attempt}`);
  return parts.filter((part) => part !== "").join(", ");
}

function waitingWords(fields: Metadata): EventWords {
  const waited = number.parse(fields.waited_ms) ?? null;
  const reason = oneLine(textOrJSON(fields.for), 120) || "its turn";
  const time = waited === null ? "" : duration(waited);
  if (fields.over === true) return { what: `Waited for ${reason}`, more: time, warn: false };
  return { what: `Waiting for ${reason}`, more: time && `${time} so far`, warn: false };
}

/** The fields of a tick stand in `ticks`, or beside it. */
function tickWords(fields: Metadata): string {
  const tick = read(anyObject, fields.ticks ?? fields);
  const confidence = number.parse(tick.confidence) ?? null;
  const parts = [
    `Tick ${oneLine(textOrJSON(tick.tick), 20)}`.trim(),
    oneLine(textOrJSON(tick.mood), 40),
    confidence === null ? "" : `${percent(confidence)} sure`,
    oneLine(textOrJSON(tick.thread), 60),
    tick.skipped === true ? "skipped" : "",
    tick.success === false ? "failed" : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
