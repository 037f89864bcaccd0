import { formatDuration, formatPercent } from "../format/format";
import { anyObject, number, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";
import { isFailedExit } from "./log/processFailure";

/** The title and detail of an agent's event as shown in the conversation. */
export interface EventDescription {
  /** What happened. */
  title: string;
  /** Details; "" for none. */
  detail: string;
  /** Whether the event indicates a problem. */
  isWarning: boolean;
}

type EventMetadata = Readonly<Record<string, unknown>>;

const maxDetailChars = 400;

/** The label of an agent's first conversation. It is not shown: most agents have no other. */
const firstLabel = "1";

/**
 * Describes an event by its type. An unknown event is described by its own type and text. The title
 * begins with the label of the conversation, unless that is the first one.
 */
export function describeEvent(event: string, text: string, metadata: unknown): EventDescription {
  const fields = read(anyObject, metadata);
  const description = describeByType(event, text, fields);
  const label = oneLine(textOrJSON(fields.label), 64);
  if (label === "" || label === firstLabel) return description;
  return { ...description, title: `${label} · ${description.title}` };
}

function describeByType(event: string, text: string, fields: EventMetadata): EventDescription {
  const eventText = oneLine(textOrJSON(text), maxDetailChars);
  switch (event) {
    case "retry":
      return { title: "Model call failed", detail: retryEventDetail(fields, eventText), isWarning: true };
    case "waiting":
      return describeWaitingEvent(fields);
    case "compacted":
      return {
        title: "Conversation compacted",
        detail: eventText || "the oldest messages were removed",
        isWarning: false,
      };
    case "limit":
      return { title: "Limit reached", detail: eventText || oneLine(textOrJSON(fields.limit), 80), isWarning: true };
    case "exit":
      return { title: eventText || "The agent exited.", detail: "", isWarning: isFailedExit(fields) };
    case "stopped":
      return { title: eventText || "The agent was stopped.", detail: "", isWarning: false };
    case "restarted":
      return { title: eventText || "The agent was restarted.", detail: "", isWarning: false };
    case "cancelled":
      return { title: "Cancelled", detail: eventText, isWarning: false };
    case "ended":
      return { title: "Ended", detail: eventText, isWarning: false };
    case "response":
      return { title: "Reply", detail: eventText, isWarning: false };
    case "ai_exec":
      return { title: "Runs code", detail: eventText, isWarning: false };
    case "ai_exec_result":
      return { title: "Output", detail: eventText, isWarning: false };
    case "tick":
      return {
        title: tickEventTitle(fields),
        detail: eventText,
        isWarning: read(anyObject, fields.ticks ?? fields).success === false,
      };
    default:
      return { title: oneLine(textOrJSON(event), 60) || "Event", detail: eventText, isWarning: false };
  }
}

function retryEventDetail(fields: EventMetadata, eventText: string): string {
  const attempt = number.parse(fields.attempt) ?? null;
  const status = number.parse(fields.status) ?? null;
  const parts = [oneLine(textOrJSON(fields.error), maxDetailChars) || eventText];
  if (status !== null && status > 0) parts.push(`status ${status}`);
  if (attempt !== null) parts.push(`attempt ${attempt}`);
  return parts.filter((part) => part !== "").join(", ");
}

function describeWaitingEvent(fields: EventMetadata): EventDescription {
  const waited = number.parse(fields.waited_ms) ?? null;
  const reason = oneLine(textOrJSON(fields.for), 120) || "its turn";
  const time = waited === null ? "" : formatDuration(waited);
  if (fields.over === true) return { title: `Waited for ${reason}`, detail: time, isWarning: false };
  return { title: `Waiting for ${reason}`, detail: time && `${time} so far`, isWarning: false };
}

/**
 * Returns the number, mood, confidence, thread and result of a tick (a step of the ticks agent) as
 * one line. The fields are in metadata.ticks or in metadata itself.
 */
function tickEventTitle(fields: EventMetadata): string {
  const tick = read(anyObject, fields.ticks ?? fields);
  const confidence = number.parse(tick.confidence) ?? null;
  const parts = [
    `Tick ${oneLine(textOrJSON(tick.tick), 20)}`.trim(),
    oneLine(textOrJSON(tick.mood), 40),
    confidence === null ? "" : `${formatPercent(confidence)} sure`,
    oneLine(textOrJSON(tick.thread), 60),
    tick.skipped === true ? "skipped" : "",
    tick.success === false ? "failed" : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
