import { type KeyboardEvent, type ReactNode, useId } from "react";
import { isPixelSize, useStored } from "../browser/useStored";
import { Splitter } from "../ui/Splitter";
import styles from "./PanelFrame.module.css";
import { useOverlayFocus } from "./useOverlayFocus";

interface Props {
  /** Whether the panel covers the notebook; false: it is beside it. */
  isOverlay: boolean;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** Minimum width of the panel in pixels. */
const minPanelWidth = 280;
/** Maximum width of the panel as a share of the window's width. */
const maxPanelWindowShare = 0.6;
/** Maximum width in pixels before the user has resized the panel. */
const maxInitialPanelWidth = 420;
/** Initial width of the panel as a share of the window's width. */
const initialPanelWindowShare = 0.4;

/**
 * Renders the side panel beside the notebook, with an adjustable width, or over it. A closed panel
 * is hidden but stays mounted.
 */
export function PanelFrame({ isOverlay, isOpen, onClose, children }: Props) {
  const [width, setWidth] = useStored("panel.width", initialPanelWidth(), isPixelSize);
  const frame = useOverlayFocus(isOverlay && isOpen);
  const id = useId();
  const most = Math.max(minPanelWidth, Math.round(window.innerWidth * maxPanelWindowShare));
  const size = Math.min(Math.max(width, minPanelWidth), most);
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
          min={minPanelWidth}
          max={most}
          onSize={setWidth}
        />
      )}
      {children}
    </aside>
  );
}

function initialPanelWidth(): number {
  return Math.min(maxInitialPanelWidth, Math.round(window.innerWidth * initialPanelWindowShare));
}
