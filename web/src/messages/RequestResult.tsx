import Hourglass from "lucide-react/icons/hourglass";
import { useContext } from "react";
import { plainName } from "../text/displayText";
import { useNow } from "../ui/useNow";
import { TraceBeginningContext } from "./clock";
import styles from "./Delay.module.css";
import type { FlowRequest } from "./entry";
import { requestWaitText } from "./entryTexts";
import markStyles from "./Mark.module.css";
import { OddityMark } from "./OddityMark";
import { isRequestPending, oddityOfRequest } from "./oddity";

interface Props {
  request: FlowRequest;
  /** When the request was made, in milliseconds since the trace began. */
  askedMs: number;
  /** The trace has ended. */
  complete: boolean;
}

/** Shows the result of a request with its delay by hop, or how long it has been waiting for an answer. */
export function RequestResult({ request, askedMs, complete }: Props) {
  if (isRequestPending(request, complete)) return <WaitingTime request={request} askedMs={askedMs} />;
  const fault = oddityOfRequest(request, complete);
  const prefixLength = fault !== null && request.text.startsWith(`${fault.label} after`) ? fault.label.length + 1 : 0;
  return (
    <>
      {fault !== null && <OddityMark oddity={fault} />}
      <span className={styles.delay} title={plainName(request.text, 400)}>
        {plainName(request.text.slice(prefixLength))}
      </span>
    </>
  );
}

function WaitingTime({ request, askedMs }: Omit<Props, "complete">) {
  const beginning = useContext(TraceBeginningContext);
  const now = useNow(beginning !== null);
  return (
    <>
      <span className={`${markStyles.mark} ${markStyles.warn}`}>
        <Hourglass aria-hidden="true" />
        waiting
      </span>
      <span className={styles.delay}>
        {beginning === null ? "no answer yet" : requestWaitText(request, now - beginning - askedMs)}
      </span>
    </>
  );
}
