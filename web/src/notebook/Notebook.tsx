import { type FocusEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useNotebookNavigation } from "../commands/navigation";
import { useSelect, useStore } from "../store/store";
import { lazyPart } from "../ui/lazyPart";
import { Announce } from "./Announce";
import { CellList } from "./CellList";
import { create } from "./change";
import { createDesk, type Desk, DeskProvider, useDesk, useView } from "./desk";
import { Ends } from "./Ends";
import { followNotebook } from "./follow";
import { Guard } from "./Guard";
import { KeysHelp } from "./KeysHelp";
import styles from "./Notebook.module.css";
import { NoteLine } from "./NoteLine";
import { jump } from "./select";
import { cellOf } from "./text";
import { useKeys } from "./useKeys";
import { withId } from "./view";

/** After so many milliseconds the search is loaded: what is drawn at first comes before it. */
const searchSoon = 500;
const loadFindBar = async () => (await import("./FindBar")).FindBar;
const FindBar = lazyPart(loadFindBar);
const RestartDialog = lazyPart(async () => (await import("./RestartDialog")).RestartDialog);

interface Props {
  /** The kernel's language, as "python": what code is highlighted as. */
  language: string;
  /** Id of a cell to jump to; null or absent: none. */
  focus?: string | null;
}

/** The cells of the session, in order. It fills its parent and scrolls. */
export function Notebook({ language, focus = null }: Props) {
  const store = useStore();
  const commands = useCommands();
  const now = useRef(commands);
  useLayoutEffect(() => {
    now.current = commands;
  }, [commands]);
  const desk = useMemo(() => createDesk(store, () => now.current), [store]);
  useEffect(() => {
    const stops = [followNotebook(desk), desk.touches.follow()];
    return () => {
      for (const stop of stops) stop();
    };
  }, [desk]);
  return (
    <DeskProvider value={desk}>
      <Cells language={language} focus={focus} />
    </DeskProvider>
  );
}

function Cells({ language, focus }: Required<Props>) {
  const desk = useDesk();
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const keys = useKeys();
  const finding = useView((state) => state.finding > 0);
  const dialog = useView((state) => state.dialog);
  // So that it is there at once when it is asked for: what is typed next is for it.
  useEffect(() => {
    const timer = setTimeout(() => loadFindBar().catch(() => {}), searchSoon);
    return () => clearTimeout(timer);
  }, []);
  const closeDialog = () => desk.view.set({ dialog: null });
  return (
    <div className={styles.notebook}>
      <div
        ref={setScroller}
        className={styles.scroller}
        tabIndex={-1}
        data-keys="notebook"
        onFocusCapture={(event) => follow(desk, event)}
        {...keys}
      >
        <CellList language={language} scroller={scroller}>
          <Ends />
        </CellList>
      </div>
      <Wishes focus={focus} scroller={scroller} />
      <Guard what="The search">{finding && <FindBar />}</Guard>
      <NoteLine />
      <Announce />
      <Guard what="The dialog">
        {dialog === "keys" && <KeysHelp onClose={closeDialog} />}
        {dialog === "restart" && <RestartDialog />}
      </Guard>
    </div>
  );
}

/** The cell in which the focus is becomes the selected one, and its text the edited one when the focus is there. */
function follow({ view }: Desk, { target }: FocusEvent): void {
  const cell = target.closest<HTMLElement>("[data-cell]");
  const id = cell?.dataset.cell;
  if (id === undefined) return;
  const { selected, editing, live } = view.get();
  if (target.closest(".cm-content") !== null) view.set({ selected: id, editing: true, live: withId(live, id) });
  else view.set({ selected: id, editing: editing && selected === id && target !== cell });
}

/** Does what other parts of the page want, and goes where the address leads. */
function Wishes({ focus, scroller }: { focus: string | null; scroller: HTMLElement | null }) {
  const desk = useDesk();
  const navigation = useNotebookNavigation();
  const there = useSelect((state) => focus !== null && cellOf(state, focus) !== null);
  useEffect(() => {
    if (scroller === null) return;
    return navigation.onRequest((request) => {
      if ("jump" in request) {
        jump(desk, request.jump);
        return;
      }
      scroller.focus({ preventScroll: true }); // what is typed from now on is for the cell
      create(desk, desk.store.get().notebook.order.length, request.add, true);
    });
  }, [desk, navigation, scroller]);
  useEffect(() => {
    if (focus !== null && there) jump(desk, focus);
  }, [desk, focus, there]);
  return null;
}
