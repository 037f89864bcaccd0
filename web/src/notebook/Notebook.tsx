import { type FocusEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSelect, useStore } from "../store/store";
import { Announce } from "./Announce";
import { CellList } from "./CellList";
import { useCommands } from "./commands";
import { createDesk, type Desk, DeskProvider, useDesk, useView } from "./desk";
import { Ends } from "./Ends";
import { FindBar } from "./FindBar";
import { followNotebook } from "./follow";
import { KeysHelp } from "./KeysHelp";
import styles from "./Notebook.module.css";
import { NoteLine } from "./NoteLine";
import { useNotebookNavigation } from "./navigation";
import { RestartDialog } from "./RestartDialog";
import { jump, selectWhenThere } from "./select";
import { cellOf } from "./text";
import { useKeys } from "./useKeys";
import { withId } from "./view";

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
      <Cells language={language} />
      <Jumps focus={focus} />
    </DeskProvider>
  );
}

function Cells({ language }: { language: string }) {
  const desk = useDesk();
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const keys = useKeys();
  const finding = useView((state) => state.finding > 0);
  const dialog = useView((state) => state.dialog);
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
      {finding && <FindBar />}
      <NoteLine />
      <Announce />
      {dialog === "keys" && <KeysHelp onClose={closeDialog} />}
      {dialog === "restart" && <RestartDialog />}
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

/** Goes where a link or the address leads. */
function Jumps({ focus }: { focus: string | null }) {
  const desk = useDesk();
  const navigation = useNotebookNavigation();
  const there = useSelect((state) => focus !== null && cellOf(state, focus) !== null);
  useEffect(
    () => navigation.onJump((id, editing) => (editing ? selectWhenThere(desk, id, true) : jump(desk, id))),
    [desk, navigation],
  );
  useEffect(() => {
    if (focus !== null && there) jump(desk, focus);
  }, [desk, focus, there]);
  return null;
}
