import { type KeyboardEvent, type ReactNode, useId } from "react";
import { isPixelSize, useStored } from "../browser/useStored";
import { Splitter } from "../ui/Splitter";
import styles from "./PanelFrame.module.css";
import { useSheetFocus } from "./useSheetFocus";

interface Props {
  /** The panel covers the notebook instead of standing beside it. */
  sheet: boolean;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** Minimum width in pixels. The maximum is a part of the window. */
const least = 280;
const mostOfWindow = 0.6;
const usual = 420;
/** Initial width as a part of the window. */
const firstOfWindow = 0.4;

/**
 * The frame of the side panel: beside the notebook with an adjustable width, or over it. A closed
 * panel stays mounted but hidden.
 */
export function PanelFrame({ sheet, open, onClose, children }: Props) {
  const [width, setWidth] = useStored("panel.width", firstWidth(), isPixelSize);
  const frame = useSheetFocus(sheet && open);
  const id = useId();
  const most = Math.max(least, Math.round(window.innerWidth * mostOfWindow));
  const size = Math.min(Math.max(width, least), most);
  const onKeyDown = (event: KeyboardEvent) => {
    if (sheet && event.key === "Escape" && !event.defaultPrevented) onClose();
  };
  return (
    <aside
      id={id}
      ref={frame}
      tabIndex={-1}
      className={sheet ? styles.sheet : styles.side}
      aria-label="Panel"
      hidden={!open}
      style={sheet ? undefined : { width: size }}
      onKeyDown={onKeyDown}
    >
      {!sheet && (
        <Splitter
          label="Width of the panel"
          orientation="vertical"
          controls={id}
          size={size}
          min={least}
          max={most}
          onSize={setWidth}
        />
      )}
      {children}
    </aside>
  );
}

function firstWidth(): number {
  return Math.min(usual, Math.round(window.innerWidth * firstOfWindow));
}
