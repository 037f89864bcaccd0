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
import { type Attempt, attemptsOf } from "../data/line";
import styles from "./AttemptHead.module.css";

/** Lines that are looked through on either side, past cases that were skipped. */
const reach = 50;

/** The ways to the attempts of the run that ended before and after the one with line number n. */
export function Neighbours({ run, n }: { run: string; n: number }) {
  const tab = new URLSearchParams(useSearch()).get("tab");
  const path = `${runApiPath(run)}/attempts`;
  const { data } = useLoad(`${path} ${n}`, async (signal) => {
    const query = { brief: true, after: Math.max(0, n - 1 - reach), limit: 2 * reach + 1 };
    const found = attemptsOf((await getJSON(path, attemptPageSchema, query, signal)).attempts);
    return found.filter((attempt) => attempt.name !== "");
  });
  const way = (attempt: Attempt) => withQuery(attemptPath(run, attempt.name), { tab });
  const before = data?.findLast((attempt) => attempt.n < n);
  const behind = data?.find((attempt) => attempt.n > n);
  return (
    <nav aria-label="Other attempts" className={styles.neighbours}>
      <Way
        label="Previous attempt"
        to={before}
        href={before && way(before)}
        icon={<ChevronLeft aria-hidden="true" />}
      />
      <Way label="Next attempt" to={behind} href={behind && way(behind)} icon={<ChevronRight aria-hidden="true" />} />
    </nav>
  );
}

interface WayProps {
  label: string;
  to: Attempt | undefined;
  href: string | undefined;
  icon: ReactNode;
}

/** A link, or its place where there is nowhere to go. */
function Way({ label, to, href, icon }: WayProps) {
  if (to === undefined || href === undefined) return <span className={styles.nowhere}>{icon}</span>;
  const title = `${label}: ${plainName(to.caseId)}, ${to.verdict}`;
  return (
    <Link href={href} aria-label={title} title={title}>
      {icon}
    </Link>
  );
}
