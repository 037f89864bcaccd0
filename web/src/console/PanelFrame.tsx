import { type KeyboardEvent, type ReactNode, useId } from "react";
import { isPixelSize, useStored } from "../browser/useStored";
import { Splitter } from "../ui/Splitter";
import styles from "./PanelFrame.module.css";
import { useSheetFocus } from "./useSheetFocus";

interface Props {
  /** It lies over the notebook, and does not stand beside it. */
  sheet: boolean;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** The least width, in pixels; the most is a part of the window. */
const least = 280;
const mostOfWindow = 0.6;
const usual = 420;
/** How much of the window it takes before one has said how wide it is to be. */
const firstOfWindow = 0.4;

/** Where the panel is: beside the notebook, as wide as one likes, or over it. Closed, it is still there and not seen. */
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
