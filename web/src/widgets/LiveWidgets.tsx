import { useMemo, useState } from "react";
import { Button } from "../ui/Button";
import { arrangeWidgets } from "./arrangeWidgets";
import styles from "./LiveWidgets.module.css";
import { PlacedWidget } from "./PlacedWidget";
import { useAllDisabledReason } from "./useWidgetControl";
import { useWidgets } from "./useWidgets";

const maxShownWidgets = 200; // number of widgets that are shown at first

/** Renders the widgets of a cell in the order of their creation, those in a layout inside it; at first only 200. */
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

/** Shows why no widget of the session can be set. Renders nothing if they can. */
function AllDisabledNote() {
  const why = useAllDisabledReason();
  return why === "" ? null : <p className={styles.note}>{why} Values cannot be set.</p>;
}
