import { type KeyboardEvent, type ReactNode, useId } from "react";
import { isPixelSize, useStored } from "../browser/useStored";
import { Splitter } from "../ui/Splitter";
import styles from "./PanelFrame.module.css";
import { useOverlayFocus } from "./useOverlayFocus";

interface Props {
  /** The panel covers the notebook instead of standing beside it. */
  isOverlay: boolean;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** Minimum width in pixels. The maximum is a part of the window. */
const minWidth = 280;
const maxWindowShare = 0.6;
const maxInitialWidth = 420;
/** Initial width as a part of the window. */
const initialWindowShare = 0.4;

/**
 * The frame of the side panel: beside the notebook with an adjustable width, or over it. A closed
 * panel stays mounted but hidden.
 */
export function PanelFrame({ isOverlay, isOpen, onClose, children }: Props) {
  const [width, setWidth] = useStored("panel.width", initialWidth(), isPixelSize);
  const frame = useOverlayFocus(isOverlay && isOpen);
  const id = useId();
  const most = Math.max(minWidth, Math.round(window.innerWidth * maxWindowShare));
  const size = Math.min(Math.max(width, minWidth), most);
  const onKeyDown = (event: KeyboardEvent) => {
    if (isOverlay && event.key === "Escape" && !event.defaultPrevented) onClose();
  };
  return (
    <aside
      id={id}
      ref={frame}
      tabIndex={-1}
      className={isOverlay ? styles.sheet : styles.side}
      aria-label="Panel"
      hidden={!isOpen}
      style={isOverlay ? undefined : { width: size }}
      onKeyDown={onKeyDown}
    >
      {!isOverlay && (
        <Splitter
          label="Width of the panel"
          orientation="vertical"
          controls={id}
          size={size}
          min={minWidth}
          max={most}
          onSize={setWidth}
        />
      )}
      {children}
    </aside>
  );
}

function initialWidth(): number {
  return Math.min(maxInitialWidth, Math.round(window.innerWidth * initialWindowShare));
}
