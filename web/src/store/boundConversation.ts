import { type Fields, isObject, jsonOf, textOf } from "../json/read";
import { jsonBytes } from "./size";
import type { Item, ToolResult } from "./state";

/** So many of the newest items are kept whole. */
const newest = 2_000;
/** Bytes of all that is kept whole, and of what is left of a text that is cut. */
const mostBytes = 32 << 20;
const headBytes = 4 << 10;

const sizes = new WeakMap<Item, number>();
const short = new WeakSet<Item>();

/** A conversation within its bounds: of what is long ago the long texts are cut, and of what is too much together. */
export function boundConversation(items: readonly Item[]): readonly Item[] {
  let total = 0;
  for (const item of items) total += sizeOf(item);
  if (total <= mostBytes && items.length <= newest) return items;
  let bounded: Item[] | null = null;
  for (const [place, item] of items.entries()) {
    const old = place < items.length - newest;
    if (!old && total <= mostBytes) break;
    const cutItem = shortened(item);
    if (cutItem === item) continue;
    total -= sizeOf(item) - sizeOf(cutItem);
    bounded ??= [...items];
    bounded[place] = cutItem;
  }
  return bounded ?? items;
}

function sizeOf(item: Item): number {
  const known = sizes.get(item);
  if (known !== undefined) return known;
  const size = jsonBytes(item);
  sizes.set(item, size);
  return size;
}

/** The item with the heads of its texts; the same when all are short. */
function shortened(item: Item): Item {
  if (short.has(item)) return item;
  const cutItem = sizeOf(item) <= headBytes ? item : cutTexts(item);
  short.add(cutItem);
  return cutItem;
}

function cutTexts(item: Item): Item {
  switch (item.kind) {
    case "event":
      return { ...item, text: head(item.text), metadata: cutFields(item.metadata) };
    case "tool": {
      const { result } = item;
      const input = isObject(item.input) ? cutFields(item.input) : cutValue(item.input);
      return { ...item, input, ...(result === undefined ? {} : { result: cutResult(result) }) };
    }
    default:
      return { ...item, text: head(item.text) };
  }
}

function cutResult({ isError, content }: ToolResult): ToolResult {
  const room = Math.max(256, Math.floor(headBytes / Math.max(1, content.length)));
  const cutPart = (part: ToolResult["content"][number]): ToolResult["content"][number] => {
    if (part.type === "text") return { type: "text", text: head(part.text, room) };
    return { type: "text", text: `[An image of ${part.data.length} characters was left out.]` };
  };
  return { isError, content: content.slice(0, 16).map(cutPart) };
}

function cutFields(fields: Fields): Fields {
  if (jsonBytes(fields) <= headBytes) return fields;
  const all = Object.entries(fields).slice(0, 16);
  return Object.fromEntries(all.map(([name, value]) => [head(name, 100), cutValue(value)]));
}

function cutValue(value: unknown): unknown {
  if (jsonBytes(value) <= headBytes) return value;
  return head(typeof value === "string" ? value : jsonOf(value));
}

function head(value: string, bytes = headBytes): string {
  const text = textOf(value);
  if (text.length <= bytes) return text;
  const kept = text.slice(0, bytes).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept}\n[... ${text.length - kept.length} characters left out ...]`;
}
