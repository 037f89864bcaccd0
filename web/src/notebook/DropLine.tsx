import styles from "./CellList.module.css";
import { useViewState } from "./notebookContext";

/**
 * A line that shows where the dragged cell would be inserted. topOf returns the top of a position
 * in the list in pixels.
 */
export function DropLine({ topOf }: { topOf: (place: number) => number }) {
  const place = useViewState((state) => state.dropIndex);
  return place === null ? null : <div className={styles.drop} style={{ top: topOf(place) }} />;
}
