import Hourglass from "lucide-react/icons/hourglass";
import { useContext } from "react";
import { plainName } from "../text/displayText";
import { useNow } from "../ui/useNow";
import { BeginningContext } from "./clock";
import styles from "./Delay.module.css";
import type { FlowRequest } from "./entry";
import { Mark } from "./Mark";
import markStyles from "./Mark.module.css";
import { faultOf, isWaiting } from "./oddity";
import { waitText } from "./words";

interface Props {
  request: FlowRequest;
  /** When it was asked, in milliseconds since the trace began. */
  askedMs: number;
  /** The trace has ended. */
  complete: boolean;
}

/** What a request has come to: the delay by hop, or the wait that goes on. */
export function Delay({ request, askedMs, complete }: Props) {
  if (isWaiting(request, complete)) return <Waiting request={request} askedMs={askedMs} />;
  const fault = faultOf(request, complete);
  const said = fault !== null && request.text.startsWith(`${fault.word} after`) ? fault.word.length + 1 : 0;
  return (
    <>
      {fault !== null && <Mark oddity={fault} />}
      <span className={styles.delay} title={plainName(request.text, 400)}>
        {plainName(request.text.slice(said))}
      </span>
    </>
  );
}

function Waiting({ request, askedMs }: Omit<Props, "complete">) {
  const beginning = useContext(BeginningContext);
  const now = useNow(beginning !== null);
  return (
    <>
      <span className={`${markStyles.mark} ${markStyles.warn}`}>
        <Hourglass aria-hidden="true" />
        waiting
      </span>
      <span className={styles.delay}>
        {beginning === null ? "no answer yet" : waitText(request, now - beginning - askedMs)}
      </span>
    </>
  );
}
