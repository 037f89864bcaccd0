// Tells of Playwright's tests as `go test -json` tells of Go's.
const tell = (event) => process.stdout.write(`${JSON.stringify({ Package: "web/e2e", ...event })}\n`);

export default class {
  onTestEnd(test, result) {
    const name = test.titlePath().filter(Boolean).join(" ");
    if (result.status !== test.expectedStatus && result.retry < test.retries) return; // it is tried again
    const say = (text) => tell({ Action: "output", Test: name, Output: `${text}\n` });
    for (const error of result.errors) say(error.stack ?? error.message ?? "");
    for (const { text } of result.stdout.map((text) => ({ text: String(text) }))) if (result.status !== "passed") say(text);
    tell({ Action: result.status === "skipped" ? "skip" : test.ok() ? "pass" : "fail", Test: name, Elapsed: result.duration / 1000 });
  }

  onError(error) {
    tell({ Action: "output", Test: "outside of a test", Output: `${error.stack ?? error.message}\n` });
    tell({ Action: "fail", Test: "outside of a test" });
  }
}
