import { type FocusEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useNotebookNavigation } from "../commands/navigation";
import { useSelect, useStore } from "../store/store";
import { lazyPart } from "../ui/lazyPart";
import { CellList } from "./CellList";
import { createCell } from "./cellCommands";
import { cellOf } from "./cellSelectors";
import { followNotebook } from "./followNotebook";
import { NoteBar } from "./NoteBar";
import styles from "./Notebook.module.css";
import { NotebookEnd } from "./NotebookEnd";
import {
  createNotebookContext,
  type NotebookContext,
  NotebookContextProvider,
  useNotebookContext,
  useViewState,
} from "./notebookContext";
import { PartErrorBoundary } from "./PartErrorBoundary";
import { RunAnnouncer } from "./RunAnnouncer";
import { ShortcutsHelp } from "./ShortcutsHelp";
import { jumpToCell } from "./selection";
import { useShortcuts } from "./useShortcuts";
import { withId } from "./viewState";

/** Milliseconds after the first paint at which the code of the search is loaded. */
const searchLoadDelayMs = 500;
const loadFindBar = async () => (await import("./FindBar")).FindBar;
const FindBar = lazyPart(loadFindBar);
const RestartDialog = lazyPart(async () => (await import("./RestartDialog")).RestartDialog);

interface Props {
  /** The kernel's language, such as "python", for syntax highlighting. */
  language: string;
  /** Id of a cell to jump to; null or absent: none. */
  focus?: string | null;
}

/** The notebook of a session. It fills its parent element and scrolls. */
export function Notebook({ language, focus = null }: Props) {
  const store = useStore();
  const commands = useCommands();
  const currentCommands = useRef(commands);
  useLayoutEffect(() => {
    currentCommands.current = commands;
  }, [commands]);
  const context = useMemo(() => createNotebookContext(store, () => currentCommands.current), [store]);
  useEffect(() => {
    const stops = [followNotebook(context), context.changeTimes.follow()];
    return () => {
      for (const stop of stops) stop();
    };
  }, [context]);
  return (
    <NotebookContextProvider value={context}>
      <NotebookCells language={language} focus={focus} />
    </NotebookContextProvider>
  );
}

function NotebookCells({ language, focus }: Required<Props>) {
  const context = useNotebookContext();
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const keys = useShortcuts();
  const finding = useViewState((state) => state.findRequests > 0);
  const dialog = useViewState((state) => state.dialog);
  // Loaded in advance, so that keys typed right after Ctrl-F go to the search.
  useEffect(() => {
    const timer = setTimeout(() => loadFindBar().catch(() => {}), searchLoadDelayMs);
    return () => clearTimeout(timer);
  }, []);
  const closeDialog = () => context.view.set({ dialog: null });
  return (
    <div className={styles.notebook}>
      <div
        ref={setScroller}
        className={styles.scroller}
        tabIndex={-1}
        data-keys="notebook"
        onFocusCapture={(event) => selectFocusedCell(context, event)}
        {...keys}
      >
        <CellList language={language} scroller={scroller}>
          <NotebookEnd />
        </CellList>
      </div>
      <NavigationHandler focus={focus} scroller={scroller} />
      <PartErrorBoundary what="The search">{finding && <FindBar />}</PartErrorBoundary>
      <NoteBar />
      <RunAnnouncer />
      <PartErrorBoundary what="The dialog">
        {dialog === "keys" && <ShortcutsHelp onClose={closeDialog} />}
        {dialog === "restart" && <RestartDialog />}
      </PartErrorBoundary>
    </div>
  );
}

/** Selects the cell that receives the focus; marks it as being edited if the focus is in its editor. */
function selectFocusedCell({ view }: NotebookContext, { target }: FocusEvent): void {
  const cell = target.closest<HTMLElement>("[data-cell]");
  const id = cell?.dataset.cell;
  if (id === undefined) return;
  const { selected, editing, cellsWithEditor } = view.get();
  if (target.closest(".cm-content") !== null)
    view.set({ selected: id, editing: true, cellsWithEditor: withId(cellsWithEditor, id) });
  else view.set({ selected: id, editing: editing && selected === id && target !== cell });
}

/**
 * Handles requests by other parts of the page to show a cell, and jumps to the cell named in the
 * page's address.
 */
function NavigationHandler({ focus, scroller }: { focus: string | null; scroller: HTMLElement | null }) {
  const context = useNotebookContext();
  const navigation = useNotebookNavigation();
  const isPresent = useSelect((state) => focus !== null && cellOf(state, focus) !== null);
  useEffect(() => {
    if (scroller === null) return;
    return navigation.onRequest((request) => {
      if ("jump" in request) {
        jumpToCell(context, request.jump);
        return;
      }
      scroller.focus({ preventScroll: true }); // keys typed from now on go to the new cell
      createCell(context, context.store.get().notebook.order.length, request.add, true);
    });
  }, [context, navigation, scroller]);
  useEffect(() => {
    if (focus !== null && isPresent) jumpToCell(context, focus);
  }, [context, focus, isPresent]);
  return null;
}
