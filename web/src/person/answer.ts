import { oneLine } from "../text/displayText";

/** How an answer is typed: as JSON, or as text, which becomes a JSON string. */
export type AnswerFormat = "json" | "text";

/** An answer as it is submitted, or why it cannot be submitted, as a sentence. */
export type CheckedAnswer = { json: string } | { problem: string };

const answerTagsPattern = /<EVAL_ANSWER>([\s\S]*?)<\/EVAL_ANSWER>/;

/** Returns the form of the answer that a task shows between tags, such as `{"total": <number>}`; "" if it shows none. */
export function answerFormOf(task: string): string {
  return answerTagsPattern.exec(task)?.[1]?.trim() ?? "";
}

/** Returns the format that a task asks for. */
export function formatOf(task: string): AnswerFormat {
  return answerTagsPattern.test(task) || /\bjson\b|[{[]/i.test(task) ? "json" : "text";
}

/** Maximum size of an answer in bytes, as the agent of a person sends it. */
const maxAnswerBytes = 1 << 20;

/** Returns how many bytes a JSON text has without white space between its parts, and with <, > and & escaped. */
function sentBytesOf(json: string): number {
  const compact = json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1").replace(/[<>&\u2028\u2029]/g, "\\u0000");
  return new TextEncoder().encode(compact).length;
}

/** Checks an answer that was typed in a format. Tags around it and the completion marker are removed. */
export function checkAnswer(typed: string, format: AnswerFormat): CheckedAnswer {
  const answer = readAnswer(typed, format);
  const bytes = "json" in answer ? sentBytesOf(answer.json) : 0;
  if (bytes <= maxAnswerBytes) return answer;
  return { problem: `The answer has ${bytes} bytes, more than the ${maxAnswerBytes} that can be submitted.` };
}

function readAnswer(typed: string, format: AnswerFormat): CheckedAnswer {
  const inTags = answerTagsPattern.exec(typed)?.[1] ?? typed;
  const text = inTags.replaceAll("[EVAL_COMPLETE]", "").trim();
  if (text === "") return { problem: "Type the answer." };
  if (format === "text") return { json: JSON.stringify(text) };
  try {
    if (JSON.parse(text) !== null) return { json: text };
    return { problem: "null counts as no answer. To end without an answer, give up." };
  } catch (error) {
    return { problem: `This is not valid JSON. ${hintAbout(text) || parserMessage(error)}` };
  }
}

/** Common mistakes in JSON, each with what to do about it. */
const mistakes: readonly (readonly [RegExp, string])[] = [
  [/^```/, "Leave out the code fence."],
  [/[{[,:]\s*'/, 'Texts and names are in double quotes: "like this".'],
  [/[:[,]\s*(True|False|None)\b/, "JSON writes true, false and null."],
  [/,\s*[}\]]/, "There is a comma after the last item."],
  [/[{,]\s*[A-Za-z_]\w*\s*:/, "Names are in double quotes too."],
  [/<[a-z ]+>/, "Replace the words between < and > by your values."],
];

/** Returns what to do about a common mistake; "" if there is none. */
function hintAbout(text: string): string {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  return mistakes.find(([pattern]) => pattern.test(withoutStrings))?.[1] ?? "";
}

function parserMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${oneLine(message, 200).replace(/\.?$/, "")}.`;
}
