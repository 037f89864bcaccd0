import { cost, count, duration, percent, score } from "../../format/format";
import { type Fields, fieldsOf, listOf, numberOf, textOf } from "../../json/read";
import { plainName } from "../../text/visible";
import { attemptOf } from "../data/line";
import { outcomeWords } from "../data/outcome";

/** A line of the table that sets two attempts against each other. */
export interface Figure {
  name: string;
  a: string;
  b: string;
  /** How b differs, in words; "": it does not, or that cannot be said. */
  difference: string;
  /** The two are not the same. */
  differs: boolean;
}

/** What two attempts have come to and used, from their lines. */
export function figuresOf(a: Fields, b: Fields): readonly Figure[] {
  const [first, second] = [attemptOf(a), attemptOf(b)];
  const words = (name: string, x: string | undefined, y: string | undefined): Figure => ({
    name,
    a: plainName(x ?? "–"),
    b: plainName(y ?? "–"),
    difference: "",
    differs: x !== y,
  });
  const number = (name: string, of: (line: Fields) => number | null, say: (value: number | null) => string): Figure =>
    numbers(name, of(a), of(b), say);
  const usage = (field: string) => (line: Fields) => numberOf(fieldsOf(line.usage)[field]);
  return [
    words("Case", first?.caseId, second?.caseId),
    words("Verdict", first?.verdict, second?.verdict),
    words(
      "Outcome",
      first ? outcomeWords(first.outcome) : undefined,
      second ? outcomeWords(second.outcome) : undefined,
    ),
    number("Score", (line) => numberOf(line.score), score),
    ...graders(a, b),
    number("Duration", (line) => numberOf(line.duration_ms), duration),
    number("Work", (line) => numberOf(fieldsOf(line.phases).work_ms), duration),
    number("Model calls", usage("model_calls"), count),
    number("Actions", usage("actions"), count),
    number("Cells run", usage("cells_run"), count),
    number("Tokens in", usage("input_tokens"), count),
    number("Tokens out", usage("output_tokens"), count),
    number("Cost", usage("cost_usd"), cost),
    number("Tamper signals", (line) => numberOf(line.tamper), count),
  ];
}

function numbers(name: string, a: number | null, b: number | null, say: (value: number | null) => string): Figure {
  return { name, a: say(a), b: say(b), difference: differenceWords(a, b, say), differs: a !== b };
}

/** "+1.2 s, +35 %". */
function differenceWords(a: number | null, b: number | null, say: (value: number | null) => string): string {
  if (a === null || b === null || a === b) return "";
  const sign = b > a ? "+" : "−";
  const share = a === 0 ? "" : `, ${sign}${percent(Math.abs(b - a) / Math.abs(a))}`;
  return `${sign}${say(Math.abs(b - a))}${share}`;
}

/** What each grader said, by its place. */
function graders(a: Fields, b: Fields): Figure[] {
  const [first, second] = [listOf(a.graders).map(fieldsOf), listOf(b.graders).map(fieldsOf)];
  return Array.from({ length: Math.max(first.length, second.length) }, (_, place) => {
    const [x, y] = [first[place], second[place]];
    const type = plainName(textOf(x?.type) || textOf(y?.type) || "unknown");
    const [said, other] = [ruling(x), ruling(y)];
    return { name: `Grader ${place + 1}, ${type}`, a: said, b: other, difference: "", differs: said !== other };
  });
}

function ruling(grader: Fields | undefined): string {
  if (grader === undefined) return "–";
  if (grader.passed === true) return "passed";
  return grader.passed === false ? "failed" : "no verdict";
}
