// Code generated from Go structs by `go test ./web -update`. DO NOT EDIT.

import { boolean, object, optional, string } from "../json/schema";

/** Problem is the JSON body of every error response. */
export interface Problem {
  /**
   * Code is for programs: "bad_parameter" (400), "too_long" (422),
   * "unreadable" (500), "gone" (502), "not_ready" (503), "no_such_endpoint" (404
   * for a path that does not exist), and otherwise the status text in lower
   * case with underscores, such as "not_found".
   */
  code: string;
  /** for people; never empty */
  text: string;
}

export const problemSchema = /* @__PURE__ */ object<Problem>({
  code: string,
  text: string,
});

/**
 * PublicConfig is the response of GET /api/config, which needs no token: what the
 * page must know before it connects.
 */
export interface PublicConfig {
  /** cases can be attached to sessions */
  cases: boolean;
  /** there are sessions to work in; false: there are only attempts to watch */
  console: boolean;
  /** RoleView or RoleHolder: the page's role unless it is opened with another ?role= */
  console_role: string;
  /** id of the session of a client that names none */
  default_session: string;
  /** no token is needed */
  eval_sandbox: boolean;
  /** who does the agents' work at the consoles; absent: agents */
  person?: string;
  /** of this program */
  version: string;
}

export const publicConfigSchema = /* @__PURE__ */ object<PublicConfig>({
  cases: boolean,
  console: boolean,
  console_role: string,
  default_session: string,
  eval_sandbox: boolean,
  person: optional(string),
  version: string,
});
