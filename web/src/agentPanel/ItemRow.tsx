import { memo } from "react";
import type { ConversationItem } from "../store/state";
import { AgentReasoning, ChatMessage } from "./ChatMessage";
import { AgentErrorLine, EventLine } from "./EventLine";
import { ToolCall } from "./ToolCall";

interface Props {
  item: ConversationItem;
  /** The key passed to onToggle. */
  rowKey: string;
  /** Whether the row is open. */
  open: boolean;
  /** Whether nothing has come after the item and more may. */
  pending: boolean;
  /** Whether a tool call without a result may still get one. */
  awaited: boolean;
  onToggle: (name: string) => void;
}

/** One conversation item. Re-rendered only when the item changes or is opened or closed. */
export const ItemRow = memo(function ItemRow({ item, rowKey, open, pending, awaited, onToggle }: Props) {
  const toggle = () => onToggle(rowKey);
  switch (item.kind) {
    case "text":
      return <ChatMessage role={item.role} text={item.text} label={item.label} open={open} onToggle={toggle} />;
    case "thinking":
      return <AgentReasoning text={item.text} open={open} onToggle={toggle} />;
    case "tool":
      return <ToolCall call={item} awaited={awaited} open={open} onToggle={toggle} />;
    case "event":
      return <EventLine event={item.event} text={item.text} metadata={item.metadata} pending={pending} />;
    case "error":
      return <AgentErrorLine text={item.text} fatal={item.fatal} />;
    default:
      return null;
  }
});
