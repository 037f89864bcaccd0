import { expect, test } from "vitest";
import {
  acceptConnections,
  advanceTimers,
  answerNewestNotebookAction,
  cellEditedEvent,
  noticeTexts,
  openPage,
  resetPageAroundTests,
  sentNotebookActions,
  userCommands,
} from "./fakePage";
import { socketAt } from "./fakeServer";

resetPageAroundTests();

const sentQueries = () => socketAt("/agent").sentOf("agent_query");

test("an answer is submitted when everything that was typed is stored", async () => {
  await openPage();
  await acceptConnections();
  userCommands().editCell("a", "typed just before");
  const submitted = userCommands().submitAnswer('{"n": 1}');
  await advanceTimers(0);
  expect(sentNotebookActions()).toMatchObject([{ params: { source: "typed just before" } }]);
  expect(sentQueries()).toEqual([]);
  await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "typed just before", 2, 11)]);
  await submitted;
  expect(sentQueries()).toMatchObject([{ query: '{"n": 1}' }]);
});

test("an answer is not submitted if a text could not be stored, or without a connection", async () => {
  await openPage();
  await acceptConnections();
  userCommands().editCell("a", "mine");
  const refused = userCommands()
    .submitAnswer("1")
    .catch((error: Error) => error.message);
  await advanceTimers(0);
  await answerNewestNotebookAction({ status: "error", error: "rev: it is 2", source: "theirs", rev: 2 });
  expect(await refused).toBe("somebody else has changed it meanwhile");
  socketAt("/agent").drop(1006);
  await advanceTimers(0);
  userCommands().startAttempt();
  expect(noticeTexts()).toContain("The attempt was not started: there is no connection.");
  expect(sentQueries()).toEqual([]);
});

test("starting an attempt sends attempt_start", async () => {
  await openPage();
  await acceptConnections();
  userCommands().startAttempt();
  expect(socketAt("/agent").sentOf("attempt_start")).toHaveLength(1);
});
