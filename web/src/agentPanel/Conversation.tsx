import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  type UIEvent,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type WheelEvent,
} from "react";
import type { Item, StreamBlock } from "../store/state";
import { Button } from "../ui/Button";
import styles from "./Conversation.module.css";
import { isSubmission } from "./gist";
import { ItemRow } from "./ItemRow";
import { rowKey } from "./rowKey";
import { StreamRow } from "./StreamRow";

interface Props {
  items: readonly Item[];
  /** The reply that is arriving; null: none is. */
  stream: readonly StreamBlock[] | null;
  /** More may come: the last thing said still holds. */
  live?: boolean;
  /** The agent works on nothing: no tool will answer any more. */
  idle?: boolean;
}

/** How near the end one must be to be taken along when more comes, in pixels. */
const nearEnd = 48;
const nothing: readonly StreamBlock[] = [];

/**
 * What was said and done, oldest first, of which only what is in sight is drawn.
 * It stays at the end while more comes, unless one has scrolled up. It fills its
 * parent, which must have a height, and scrolls in it. Cells are named by the
 * component that CellNameProvider gives.
 */
export function Conversation({ items, stream, live = false, idle = false }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [opened, toggle] = useOpened();
  const arriving = stream ?? nothing;
  const ends = useMemo(() => items.findLastIndex(isEnd), [items]);
  const count = items.length + arriving.length;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => 56,
    overscan: 6,
    getItemKey: (index) => rowKey(items, index) || `stream ${index - items.length}`,
    anchorTo: "end",
    scrollEndThreshold: nearEnd,
    useFlushSync: false,
  });
  const follow = useFollowing(scroller, rows.getTotalSize(), rows.scrollRect?.height ?? 0);
  const away = count > 0 && !rows.isAtEnd(nearEnd) && rows.getTotalSize() > (rows.scrollRect?.height ?? 0);
  return (
    <div className={styles.frame}>
      <div
        ref={scroller}
        className={styles.scroller}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        {...follow}
      >
        {count === 0 && <p className={styles.empty}>Nothing has been said yet.</p>}
        <div className={styles.rows} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ key, index, start }) => {
            const item = items[index];
            const block = arriving[index - items.length];
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
                    name={String(key)}
                    open={opened.has(String(key))}
                    pending={live && index === count - 1}
                    awaited={!idle && index > ends && !isSettled(items, index)}
                    onToggle={toggle}
                  />
                )}
                {block !== undefined && <StreamRow block={block} last={index === count - 1} />}
              </div>
            );
          })}
        </div>
      </div>
      {away && (
        <Button className={styles.latest ?? ""} onClick={() => rows.scrollToEnd()}>
          <ArrowDown aria-hidden="true" size={14} /> Jump to latest
        </Button>
      )}
    </div>
  );
}

/** Stays at the end whatever grows, until the person goes up, and again when they are back. */
function useFollowing(scroller: RefObject<HTMLDivElement | null>, height: number, view: number) {
  const following = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever it, or what is seen of it, has another height
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && following.current) element.scrollTo({ top: element.scrollHeight });
  }, [scroller, height, view]);
  const leave = () => {
    following.current = false;
  };
  return {
    onScroll: ({ currentTarget: at }: UIEvent<HTMLElement>) => {
      if (at.scrollHeight - at.clientHeight - at.scrollTop <= nearEnd) following.current = true;
    },
    onWheel: ({ deltaY }: WheelEvent) => deltaY < 0 && leave(),
    onTouchMove: leave,
    onKeyDown: ({ key }: KeyboardEvent) => ["ArrowUp", "PageUp", "Home"].includes(key) && leave(),
    onPointerDown: ({ target, currentTarget }: PointerEvent) => target === currentTarget && leave(), // its scrollbar
  };
}

/** An agent has ended: what it had called does not answer. */
function isEnd(item: Item): boolean {
  return item.kind === "event" && (item.event === "exit" || item.event === "restarted");
}

/** A submission need not be answered: it is over when anything else has been said. */
function isSettled(items: readonly Item[], place: number): boolean {
  const item = items[place];
  if (item?.kind !== "tool" || !isSubmission(item.name)) return false;
  return items.slice(place + 1).some((later) => later.seq !== item.seq);
}

/** Which rows are unfolded, by their keys: those out of sight are not drawn and cannot know. */
function useOpened(): [ReadonlySet<string>, (name: string) => void] {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((name: string) => {
    setOpened((before) => {
      const after = new Set(before);
      if (!after.delete(name)) after.add(name);
      return after;
    });
  }, []);
  return [opened, toggle];
}
