import { formatCountOf } from "../format/format";
import { anyObject, read } from "../json/schema";
import { sameAsEarlierCallSchema } from "../protocol/api.gen";
import { shortNameText } from "./entryTexts";

/**
 * Returns what the message of a model_call leaves out because an earlier call has it, such as "call 3
 * has the same: the first 12 messages, tools"; "" if it leaves out nothing.
 */
export function sameAsEarlierText(message: unknown): string {
  const same = sameAsEarlierCallSchema.parse(read(anyObject, message).same);
  if (same === undefined) return "";
  const { count = 0, members = [] } = same;
  const parts = [
    ...(count > 0 ? [count === 1 ? "the first message" : `the first ${formatCountOf(count, "message")}`] : []),
    ...members.map(shortNameText),
  ];
  return `call ${same.call} has the same: ${parts.join(", ")}`;
}
