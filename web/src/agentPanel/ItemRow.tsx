import { memo } from "react";
import type { Item } from "../store/state";
import { ErrorLine } from "./ErrorLine";
import { EventLine } from "./EventLine";
import { Said } from "./Said";
import { Thinking } from "./Thinking";
import { ToolCall } from "./ToolCall";

interface Props {
  item: Item;
  /** What it is called towards onToggle. */
  name: string;
  /** It is unfolded. */
  open: boolean;
  /** Nothing has come after it, and more may. */
  pending: boolean;
  /** What has not been answered may still be. */
  awaited: boolean;
  onToggle: (name: string) => void;
}

/** One thing in the conversation; drawn again only when it is another, or is folded. */
export const ItemRow = memo(function ItemRow({ item, name, open, pending, awaited, onToggle }: Props) {
  const toggle = () => onToggle(name);
  switch (item.kind) {
    case "text":
      return <Said role={item.role} text={item.text} label={item.label} open={open} onToggle={toggle} />;
    case "thinking":
      return <Thinking text={item.text} open={open} onToggle={toggle} />;
    case "tool":
      return <ToolCall call={item} awaited={awaited} open={open} onToggle={toggle} />;
    case "event":
      return <EventLine event={item.event} text={item.text} metadata={item.metadata} pending={pending} />;
    case "error":
      return <ErrorLine text={item.text} fatal={item.fatal} />;
    default:
      return null;
  }
});
