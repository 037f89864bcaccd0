import { useVirtualizer } from "@tanstack/react-virtual";
import ArrowDown from "lucide-react/icons/arrow-down";
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  type UIEvent,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type WheelEvent,
} from "react";
import type { ConversationItem, StreamBlock } from "../store/state";
import { Button } from "../ui/Button";
import styles from "./Conversation.module.css";
import { ItemRow } from "./ItemRow";
import { StreamRow } from "./StreamRow";
import { isSubmissionTool } from "./toolName";

interface Props {
  items: readonly ConversationItem[];
  /** The reply that is being received; null if none. */
  stream: readonly StreamBlock[] | null;
  /** Whether more items may come, so that the last item is still current. */
  live?: boolean;
  /** Whether the agent is idle: no open tool call will get a result. */
  idle?: boolean;
  /** Returns what is shown below the item at an index. */
  footer?: (index: number) => ReactNode;
}

/** The conversation counts as scrolled to its end within this distance in pixels. */
const endThresholdPx = 48;
const noStreamBlocks: readonly StreamBlock[] = [];

/**
 * A list of conversation items, oldest first. Only the visible rows are rendered. Scrolls to new
 * items unless the user has scrolled up. Fills its parent, which must have a height.
 * CellNameProvider decides how cells are named.
 */
export function Conversation({ items, stream, live = false, idle = false, footer }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [openRows, toggle] = useOpenRows();
  const streamBlocks = stream ?? noStreamBlocks;
  const lastExitIndex = useMemo(() => items.findLastIndex(isAgentExit), [items]);
  const count = items.length + streamBlocks.length;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => 56,
    overscan: 6,
    getItemKey: (index) => rowKey(items, index) || `stream ${index - items.length}`,
    anchorTo: "end",
    scrollEndThreshold: endThresholdPx,
    useFlushSync: false,
  });
  const scrollHandlers = useScrollToEnd(scroller, rows.getTotalSize(), rows.scrollRect?.height ?? 0);
  const isAwayFromEnd =
    count > 0 && !rows.isAtEnd(endThresholdPx) && rows.getTotalSize() > (rows.scrollRect?.height ?? 0);
  return (
    <div className={styles.frame}>
      <div
        ref={scroller}
        className={styles.scroller}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
        tabIndex={0}
        {...scrollHandlers}
      >
        {count === 0 && <p className={styles.empty}>No messages yet.</p>}
        <div className={styles.rows} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ key, index, start }) => {
            const item = items[index];
            const block = streamBlocks[index - items.length];
            return (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className={styles.row}
                style={{ transform: `translateY(${start}px)` }}
              >
                {item !== undefined && (
                  <ItemRow
                    item={item}
                    rowKey={String(key)}
                    open={openRows.has(String(key))}
                    pending={live && index === count - 1}
                    awaited={!idle && index > lastExitIndex && !isSubmissionDone(items, index)}
                    onToggle={toggle}
                  />
                )}
                {footer?.(index)}
                {block !== undefined && <StreamRow block={block} last={index === count - 1} />}
              </div>
            );
          })}
        </div>
      </div>
      {isAwayFromEnd && (
        <Button className={styles.latest ?? ""} onClick={() => rows.scrollToEnd()}>
          <ArrowDown aria-hidden="true" size={14} /> Jump to latest
        </Button>
      )}
    </div>
  );
}

/**
 * Keeps a scroll area at its end when its content or height changes, until the user scrolls up;
 * starts again when the user scrolls back to the end.
 */
function useScrollToEnd(scroller: RefObject<HTMLDivElement | null>, height: number, viewHeight: number) {
  const following = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are the triggers
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && following.current) element.scrollTo({ top: element.scrollHeight });
  }, [scroller, height, viewHeight]);
  const stopFollowing = () => {
    following.current = false;
  };
  return {
    onScroll: ({ currentTarget: at }: UIEvent<HTMLElement>) => {
      if (at.scrollHeight - at.clientHeight - at.scrollTop <= endThresholdPx) following.current = true;
    },
    onWheel: ({ deltaY }: WheelEvent) => deltaY < 0 && stopFollowing(),
    onTouchMove: stopFollowing,
    onKeyDown: ({ key }: KeyboardEvent) => ["ArrowUp", "PageUp", "Home"].includes(key) && stopFollowing(),
    onPointerDown: ({ target, currentTarget }: PointerEvent) => target === currentTarget && stopFollowing(), // a press on the scrollbar
  };
}

/**
 * Reports whether a conversation item says that the agent process ended. Tool calls before it that
 * have no result never get one.
 */
function isAgentExit(item: ConversationItem): boolean {
  return item.kind === "event" && (item.event === "exit" || item.event === "restarted");
}

/**
 * Reports whether an item is a call that submits the answer and anything was received after it, so
 * that its result is no longer awaited.
 */
function isSubmissionDone(items: readonly ConversationItem[], index: number): boolean {
  const item = items[index];
  if (item?.kind !== "tool" || !isSubmissionTool(item.name)) return false;
  return items.slice(index + 1).some((other) => other.seq !== item.seq);
}

/**
 * Holds which rows of the conversation are open, by key. The rows cannot hold it, because rows that
 * scroll out of view are unmounted.
 */
function useOpenRows(): [ReadonlySet<string>, (key: string) => void] {
  const [openKeys, setOpenKeys] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((key: string) => {
    setOpenKeys((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  }, []);
  return [openKeys, toggle];
}

/**
 * Returns a React key for the item at an index that does not change when items are inserted before
 * it: the item's trace entry and its position within that entry. "" if there is no such item.
 */
export function rowKey(items: readonly ConversationItem[], index: number): string {
  const seq = items[index]?.seq;
  if (seq === undefined) return "";
  if (seq === 0) return `at ${index}`;
  let entryStart = index;
  while (entryStart > 0 && items[entryStart - 1]?.seq === seq) entryStart--;
  return `${seq}.${index - entryStart}`;
}
