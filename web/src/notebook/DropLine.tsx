import styles from "./CellList.module.css";
import { useView } from "./desk";

/** Where the cell that is dragged would come to stand. topOf gives the height of a place in the list, in pixels. */
export function DropLine({ topOf }: { topOf: (place: number) => number }) {
  const place = useView((state) => state.drop);
  return place === null ? null : <div className={styles.drop} style={{ top: topOf(place) }} />;
}
