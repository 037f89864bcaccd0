import { useState } from "react";
import type { CurrentAttempt } from "../agentPanel/attempt";
import { useAttempt } from "../agentPanel/useAttempt";
import { type LastVerdict, useLastVerdict } from "../agentPanel/useLastVerdict";
import { useSelect } from "../store/store";

/** The work of a person who does the agent's work in a session. */
export interface PersonWork {
  /** The person's name. */
  person: string;
  /** null: there is none, or it is not known yet. */
  attempt: CurrentAttempt | null;
  /** waiting: for the person to start. working: since then. over: the attempt has ended. */
  phase: "waiting" | "working" | "over";
  /** Whether the person has submitted or given up, and the attempt has not ended yet. */
  isDone: boolean;
  /** Why the notebook cannot be changed now, as a sentence; null: it can. */
  standsStill: string | null;
  lastVerdict: LastVerdict | null;
}

/** Returns the work of the person in a session. */
export function usePersonWork(session: string, connected: boolean, person: string): PersonWork {
  const attempt = useKeptAttempt(session, connected);
  const lastVerdict = useLastVerdict(session);
  const isOver = useSelect((state) => state.verdict !== null);
  const isAgentDone = useSelect((state) => state.agent.status === "done" || state.agent.status === "gone");
  const isStarted = attempt !== null && attempt.started !== null;
  const phase = isOver ? "over" : isStarted ? "working" : "waiting";
  const isDone = phase === "working" && isAgentDone;
  return { person, attempt, phase, isDone, standsStill: standsStillText(phase, isDone), lastVerdict };
}

/** Returns the attempt in progress, also while the page is disconnected. */
function useKeptAttempt(session: string, connected: boolean): CurrentAttempt | null {
  const current = useAttempt(session, connected);
  const [kept, setKept] = useState(current);
  if (connected && kept !== current) setKept(current);
  return connected ? current : kept;
}

function standsStillText(phase: PersonWork["phase"], isDone: boolean): string | null {
  if (phase === "waiting") return "The attempt has not started: press Start.";
  if (phase === "over") return "The attempt has ended.";
  return isDone ? "Your work on this case has ended." : null;
}
