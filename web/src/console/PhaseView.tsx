import type { SessionPhase } from "../agent/sessionSnapshot";
import styles from "./PhaseView.module.css";
import { phaseText } from "./phaseText";

/** Shows the session's id and phase, in place of the notebook until the session has started. phase null: not connected yet. */
export function PhaseView({ session, phase }: { session: string; phase: SessionPhase | null }) {
  return (
    <div className={styles.view} role="status">
      <span className={styles.mark} aria-hidden="true" />
      <p>{phase === null ? "Connecting" : phaseText(phase)}…</p>
      <p className={styles.session}>{session.slice(0, 100)}</p>
    </div>
  );
}
