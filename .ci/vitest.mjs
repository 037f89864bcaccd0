// Tells of vitest's tests as `go test -json` tells of Go's.
const tell = (event) => process.stdout.write(`${JSON.stringify({ Package: "web", ...event })}\n`);
const actions = { passed: "pass", failed: "fail", skipped: "skip", pending: "fail" };

export default class {
  onTestCaseResult(test) {
    const name = `${test.module.relativeModuleId} ${test.fullName}`;
    const { state, errors } = test.result();
    for (const error of errors ?? []) tell({ Action: "output", Test: name, Output: `${error.stack ?? error.message}\n` });
    tell({ Action: actions[state], Test: name });
  }

  onTestRunEnd(modules, errors) {
    for (const module of modules) {
      for (const error of module.errors()) this.#broken(module.relativeModuleId, error);
    }
    for (const error of errors) this.#broken("outside of a test", error);
  }

  #broken(name, error) {
    tell({ Action: "output", Test: name, Output: `${error.stack ?? error.message}\n` });
    tell({ Action: "fail", Test: name });
  }
}
