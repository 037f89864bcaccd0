import { useMemo, useState } from "react";
import { Button } from "../ui/Button";
import { arrange } from "./arrange";
import { PlacedWidget } from "./PlacedWidget";
import { useWhyNone } from "./useSetting";
import { useWidgets } from "./useWidgets";
import styles from "./Widgets.module.css";

const most = 200; // number of widgets that are shown at first

/** The live widgets of a cell in the order of their creation, those in a layout at their place in it. */
export function Widgets({ cellId }: { cellId: string }) {
  const widgets = useWidgets(cellId);
  const places = useMemo(() => arrange(cellId, widgets), [cellId, widgets]);
  const [all, setAll] = useState(false);
  if (places.length === 0) return null;
  return (
    <div className={styles.widgets}>
      <WhyNone />
      {(all ? places : places.slice(0, most)).map((place) => (
        <PlacedWidget key={place.key} cellId={cellId} widgets={widgets} place={place} />
      ))}
      {!all && places.length > most && (
        <Button onClick={() => setAll(true)}>Show all {places.length.toLocaleString("en")} widgets</Button>
      )}
    </div>
  );
}

/** Shows once why no widget can be set. */
function WhyNone() {
  const why = useWhyNone();
  return why === "" ? null : <p className={styles.note}>{why} Values cannot be set.</p>;
}
