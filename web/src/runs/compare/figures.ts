import { formatCost, formatCount, formatDuration, formatPercent, formatScore } from "../../format/format";
import { list, read } from "../../json/schema";
import type { AttemptLine, RunUsage } from "../../protocol/api.gen";
import { type GraderResult, graderResultSchema } from "../../protocol/messages";
import { plainName } from "../../text/displayText";
import { attemptOf } from "../data/attempt";
import { outcomeText } from "../data/outcome";

/** A figure of two attempts, such as the score, as a row of the comparison table. */
export interface ComparedFigure {
  name: string;
  a: string;
  b: string;
  /** The difference from a to b as text; "" if there is none or it is not a number. */
  difference: string;
  /** a and b differ. */
  differs: boolean;
}

/** Returns the figures of two attempts, from their lines in attempts.jsonl. */
export function comparedFiguresOf(a: AttemptLine, b: AttemptLine): readonly ComparedFigure[] {
  const [first, second] = [attemptOf(a), attemptOf(b)];
  const words = (name: string, x: string | undefined, y: string | undefined): ComparedFigure => ({
    name,
    a: plainName(x ?? "–"),
    b: plainName(y ?? "–"),
    difference: "",
    differs: x !== y,
  });
  const number = (
    name: string,
    of: (line: AttemptLine) => number | null,
    say: (value: number | null) => string,
  ): ComparedFigure => comparedNumber(name, of(a), of(b), say);
  const usage = (field: Exclude<keyof RunUsage, "reported">) => (line: AttemptLine) => line.usage?.[field] ?? null;
  return [
    words("Case", first?.caseId, second?.caseId),
    words("Verdict", first?.verdict, second?.verdict),
    words("Outcome", first ? outcomeText(first.outcome) : undefined, second ? outcomeText(second.outcome) : undefined),
    number("Score", (line) => line.score ?? null, formatScore),
    ...comparedGraderResults(a, b),
    number("Duration", (line) => line.duration_ms ?? null, formatDuration),
    number("Work", (line) => line.phases?.work_ms ?? null, formatDuration),
    number("Model calls", usage("model_calls"), formatCount),
    number("Actions", usage("actions"), formatCount),
    number("Cells run", usage("cells_run"), formatCount),
    number("Tokens in", usage("input_tokens"), formatCount),
    number("Tokens out", usage("output_tokens"), formatCount),
    number("Cost", usage("cost_usd"), formatCost),
    number("Tamper signals", (line) => line.tamper ?? null, formatCount),
  ];
}

function comparedNumber(
  name: string,
  a: number | null,
  b: number | null,
  say: (value: number | null) => string,
): ComparedFigure {
  return { name, a: say(a), b: say(b), difference: differenceText(a, b, say), differs: a !== b };
}

/** Formats the difference from a to b with sign and percentage, such as "+1.2 s, +35 %". */
function differenceText(a: number | null, b: number | null, say: (value: number | null) => string): string {
  if (a === null || b === null || a === b) return "";
  const sign = b > a ? "+" : "−";
  const share = a === 0 ? "" : `, ${sign}${formatPercent(Math.abs(b - a) / Math.abs(a))}`;
  return `${sign}${say(Math.abs(b - a))}${share}`;
}

/** Returns the result of each grader for two attempts. Graders are matched by position. */
function comparedGraderResults(a: AttemptLine, b: AttemptLine): ComparedFigure[] {
  const [first, second] = [a, b].map(({ graders }) => read(list(graderResultSchema), graders));
  return Array.from({ length: Math.max(first?.length ?? 0, second?.length ?? 0) }, (_, place) => {
    const [x, y] = [first?.[place], second?.[place]];
    const type = plainName(x?.type || y?.type || "unknown");
    const [said, other] = [graderVerdictText(x), graderVerdictText(y)];
    return { name: `Grader ${place + 1}, ${type}`, a: said, b: other, difference: "", differs: said !== other };
  });
}

function graderVerdictText(grader: GraderResult | undefined): string {
  if (grader === undefined) return "–";
  if (grader.passed === true) return "passed";
  return grader.passed === false ? "failed" : "no verdict";
}
