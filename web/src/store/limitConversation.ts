import { type Fields, isObject, jsonOrEmpty } from "../json/values";
import { jsonByteLength } from "./size";
import type { ConversationItem, ToolResult } from "./state";

/** How many of the newest items are kept whole. */
const maxWholeItems = 2_000;
/** Bytes of all items that are kept whole. */
const maxConversationBytes = 32 << 20;
/** Bytes that are kept of a shortened text. */
const maxHeadBytes = 4 << 10;

const itemSizes = new WeakMap<ConversationItem, number>();
const shortItems = new WeakSet<ConversationItem>();

/** Limits the size of a conversation: shortens the long texts of old items, and of the oldest ones if all are too large together. */
export function limitConversation(items: readonly ConversationItem[]): readonly ConversationItem[] {
  let total = 0;
  for (const item of items) total += sizeOfItem(item);
  if (total <= maxConversationBytes && items.length <= maxWholeItems) return items;
  let limited: ConversationItem[] | null = null;
  for (const [index, item] of items.entries()) {
    const isOld = index < items.length - maxWholeItems;
    if (!isOld && total <= maxConversationBytes) break;
    const short = shortenedItem(item);
    if (short === item) continue;
    total -= sizeOfItem(item) - sizeOfItem(short);
    limited ??= [...items];
    limited[index] = short;
  }
  return limited ?? items;
}

function sizeOfItem(item: ConversationItem): number {
  const known = itemSizes.get(item);
  if (known !== undefined) return known;
  const size = jsonByteLength(item);
  itemSizes.set(item, size);
  return size;
}

/** Returns the item with only the beginnings of its texts; the same object if all are short. */
function shortenedItem(item: ConversationItem): ConversationItem {
  if (shortItems.has(item)) return item;
  const short = sizeOfItem(item) <= maxHeadBytes ? item : cutTextsOfItem(item);
  shortItems.add(short);
  return short;
}

function cutTextsOfItem(item: ConversationItem): ConversationItem {
  switch (item.kind) {
    case "event":
      return { ...item, text: shortenText(item.text), metadata: cutFieldsAsJSON(item.metadata) };
    case "tool": {
      const { result } = item;
      const input = isObject(item.input) ? cutFieldsAsJSON(item.input) : cutValue(item.input);
      return { ...item, input, ...(result === undefined ? {} : { result: cutToolResult(result) }) };
    }
    default:
      return { ...item, text: shortenText(item.text) };
  }
}

function cutToolResult({ isError, content }: ToolResult): ToolResult {
  const room = Math.max(256, Math.floor(maxHeadBytes / Math.max(1, content.length)));
  const cutPart = (part: ToolResult["content"][number]): ToolResult["content"][number] => {
    if (part.type === "text") return { type: "text", text: shortenText(part.text, room) };
    return { type: "text", text: `[An image of ${part.data.length} characters was left out.]` };
  };
  return { isError, content: content.slice(0, 16).map(cutPart) };
}

function cutFieldsAsJSON(fields: Fields): Fields {
  if (jsonByteLength(fields) <= maxHeadBytes) return fields;
  const all = Object.entries(fields).slice(0, 16);
  return Object.fromEntries(all.map(([name, value]) => [shortenText(name, 100), cutValue(value)]));
}

function cutValue(value: unknown): unknown {
  if (jsonByteLength(value) <= maxHeadBytes) return value;
  return shortenText(typeof value === "string" ? value : jsonOrEmpty(value));
}

/** Returns the beginning of a text, with a note about the rest; the whole text if it is short. */
function shortenText(text: string, bytes = maxHeadBytes): string {
  if (text.length <= bytes) return text;
  const kept = text.slice(0, bytes).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept}\n[... ${text.length - kept.length} characters left out ...]`;
}
