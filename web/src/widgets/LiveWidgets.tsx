import { useMemo, useState } from "react";
import { Button } from "../ui/Button";
import { arrangeWidgets } from "./arrangeWidgets";
import styles from "./LiveWidgets.module.css";
import { PlacedWidget } from "./PlacedWidget";
import { useAllDisabledReason } from "./useWidgetControl";
import { useWidgets } from "./useWidgets";

const maxShownWidgets = 200; // number of widgets that are shown at first

/** The live widgets of a cell in the order of their creation, those in a layout at their place in it. */
export function LiveWidgets({ cellId }: { cellId: string }) {
  const widgets = useWidgets(cellId);
  const places = useMemo(() => arrangeWidgets(cellId, widgets), [cellId, widgets]);
  const [all, setAll] = useState(false);
  if (places.length === 0) return null;
  return (
    <div className={styles.widgets}>
      <AllDisabledNote />
      {(all ? places : places.slice(0, maxShownWidgets)).map((place) => (
        <PlacedWidget key={place.key} cellId={cellId} widgets={widgets} place={place} />
      ))}
      {!all && places.length > maxShownWidgets && (
        <Button onClick={() => setAll(true)}>Show all {places.length.toLocaleString("en")} widgets</Button>
      )}
    </div>
  );
}

/** Shows once why no widget can be set. */
function AllDisabledNote() {
  const why = useAllDisabledReason();
  return why === "" ? null : <p className={styles.note}>{why} Values cannot be set.</p>;
}
