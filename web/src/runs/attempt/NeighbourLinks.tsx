import ChevronLeft from "lucide-react/icons/chevron-left";
import ChevronRight from "lucide-react/icons/chevron-right";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { getJSON, runApiPath, withQuery } from "../../api/client";
import { useLoad } from "../../api/useLoad";
import { attemptPageSchema } from "../../protocol/api.gen";
import { attemptPath } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { type Attempt, attemptsOf } from "../data/attempt";
import styles from "./AttemptHead.module.css";

/**
 * Number of lines of attempts.jsonl that are loaded before and after an attempt's line, to get past
 * skipped cases.
 */
const neighbourLineCount = 50;

/** Links to the attempts before and after the one at line n of a run's attempts.jsonl. */
export function NeighbourLinks({ run, n }: { run: string; n: number }) {
  const tab = new URLSearchParams(useSearch()).get("tab");
  const path = `${runApiPath(run)}/attempts`;
  const { data } = useLoad(`${path} ${n}`, async (signal) => {
    const query = { brief: true, after: Math.max(0, n - 1 - neighbourLineCount), limit: 2 * neighbourLineCount + 1 };
    const found = attemptsOf((await getJSON(path, attemptPageSchema, query, signal)).attempts);
    return found.filter((attempt) => attempt.name !== "");
  });
  const way = (attempt: Attempt) => withQuery(attemptPath(run, attempt.name), { tab });
  const before = data?.findLast((attempt) => attempt.n < n);
  const behind = data?.find((attempt) => attempt.n > n);
  return (
    <nav aria-label="Other attempts" className={styles.neighbours}>
      <NeighbourLink
        label="Previous attempt"
        to={before}
        href={before && way(before)}
        icon={<ChevronLeft aria-hidden="true" />}
      />
      <NeighbourLink
        label="Next attempt"
        to={behind}
        href={behind && way(behind)}
        icon={<ChevronRight aria-hidden="true" />}
      />
    </nav>
  );
}

interface NeighbourLinkProps {
  label: string;
  to: Attempt | undefined;
  href: string | undefined;
  icon: ReactNode;
}

/** A link to the previous or next attempt, or a disabled icon if there is none. */
function NeighbourLink({ label, to, href, icon }: NeighbourLinkProps) {
  if (to === undefined || href === undefined) return <span className={styles.nowhere}>{icon}</span>;
  const title = `${label}: ${plainName(to.caseId)}, ${to.verdict}`;
  return (
    <Link href={href} aria-label={title} title={title}>
      {icon}
    </Link>
  );
}
