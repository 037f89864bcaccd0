import { useState } from "react";
import { useSelect } from "../../store/store";
import { Fold } from "../Fold";
import { ChildChoice } from "./ChildChoice";
import styles from "./Log.module.css";
import { LogText } from "./LogText";
import type { Child } from "./printed";
import { readTrouble, troubleOf } from "./trouble";

interface Props {
  session: string;
  /** An attempt goes on. */
  attempt: boolean;
  /** Why the server has refused the connection; "": it has not. */
  refused: string;
}

/** What agent and kernel print, folded until one of them has died by a fault or somebody opens it. */
export function LogFold({ session, attempt, refused }: Props) {
  const key = useSelect((state) => troubleOf(state, attempt, refused));
  const trouble = readTrouble(key);
  const [opened, setOpened] = useState(false);
  /** The trouble at which it was folded. */
  const [folded, setFolded] = useState("");
  const [chosen, setChosen] = useState<{ key: string; child: Child } | null>(null);
  const open = trouble === null ? opened : folded !== key;
  const child = chosen?.key === key ? chosen.child : (trouble?.child ?? "agent");
  const toggle = () => {
    if (trouble === null) setOpened(!open);
    else setFolded(open ? key : "");
  };
  return (
    <div className={styles.log}>
      <Fold
        name={trouble === null ? "Log" : "Last words"}
        gist={open ? "" : trouble === null ? "what agent and kernel print" : `of the ${trouble.child}`}
        look="prose"
        aside={open && <ChildChoice child={child} onChoose={(one) => setChosen({ key, child: one })} />}
        open={open}
        onToggle={toggle}
      >
        <LogText session={session} child={child} />
      </Fold>
    </div>
  );
}
