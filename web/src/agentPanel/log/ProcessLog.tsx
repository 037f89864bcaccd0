import { useId, useState } from "react";
import { useSelect } from "../../store/store";
import { Collapsible } from "../Collapsible";
import styles from "./Log.module.css";
import { LogLines } from "./LogLines";
import { parseFailureKey, processFailureKey } from "./processFailure";
import { type ProcessName, processNames } from "./processLogs";

interface Props {
  session: string;
  /** Whether an attempt is going on. */
  attempt: boolean;
  /** Why the server has refused the connection; "" if it has not. */
  refused: string;
}

/** A collapsible log of the agent and kernel processes. It opens automatically when one of them fails. */
export function ProcessLog({ session, attempt, refused }: Props) {
  const failureKey = useSelect((state) => processFailureKey(state, attempt, refused));
  const failure = parseFailureKey(failureKey);
  const [isOpened, setIsOpened] = useState(false);
  /** The failure for which the user has closed the log. */
  const [closedFor, setClosedFor] = useState("");
  const [choice, setChoice] = useState<{ key: string; child: ProcessName } | null>(null);
  const open = failure === null ? isOpened : closedFor !== failureKey;
  const processName = choice?.key === failureKey ? choice.child : (failure?.child ?? "agent");
  const toggle = () => {
    if (failure === null) setIsOpened(!open);
    else setClosedFor(open ? failureKey : "");
  };
  return (
    <div className={styles.log}>
      <Collapsible
        name={failure === null ? "Log" : "Last output"}
        summary={open ? "" : failure === null ? "output of the agent and kernel" : `of the ${failure.child}`}
        summaryStyle="prose"
        trailing={
          open && (
            <ProcessChoice
              processName={processName}
              onChoose={(selected) => setChoice({ key: failureKey, child: selected })}
            />
          )
        }
        open={open}
        onToggle={toggle}
      >
        <LogLines session={session} processName={processName} />
      </Collapsible>
    </div>
  );
}

const processLabels: Readonly<Record<ProcessName, string>> = { agent: "Agent", kernel: "Kernel" };

/** Radio buttons that choose the process whose log is shown. */
export function ProcessChoice({
  processName,
  onChoose,
}: {
  processName: ProcessName;
  onChoose: (child: ProcessName) => void;
}) {
  const group = useId();
  return (
    <fieldset className={styles.choice}>
      <legend className="visually-hidden">Process</legend>
      {processNames.map((one) => (
        <label key={one}>
          <input type="radio" name={group} checked={one === processName} onChange={() => onChoose(one)} />
          {processLabels[one]}
        </label>
      ))}
    </fieldset>
  );
}
