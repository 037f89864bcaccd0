// Package server serves live sessions over HTTP and WebSocket: consoles at /run
// and /agent, watchers at /watch and /printed, clients of the agent at /mcp, the
// page, the sessions' part of the API, and, from its subpackages, stored runs and
// metrics.
//
// # Sessions and consoles
//
// A client addresses a session by an id. What is behind an id is a [sessionHost],
// which runs one session after another: a session without a case, the attempts at
// an attached case, and then a session without a case again. Each of them is a
// [sessionInstance].
//
// A console's WebSocket is a [consoleConn]. It stays connected while sessions come
// and go: the host connects it to one instance after the other, each through a
// [sessionConn], which the router uses like any other connection. When a session
// ends, it closes its sessionConn; the WebSocket stays open. While no session is
// live, the server itself answers the console.
//
// The first console at /agent decides who holds the notebook: the console
// ([RoleHolder]) or the server, whose notebook the console only shows ([RoleView]).
// Both are peers of the session's router. A watcher is not: it reads the trace's
// file at its own pace, so watchers cost a session nothing.
//
// A session without a case restores the notebook of the newest trace with its id.
// The restored notebook is the first entry of the new trace, so that every trace
// can be understood alone.
//
// # States of an id
//
//	creating ──▶ starting ──▶ running ──▶ stopping ──▶ stopped
//	                ▲  └────────────────────────────────▶│
//	                └──── a console wants a session ─────┘
//	                      or a case is attached
//
// The sessions of [Server.PublishAttempts] are started and ended by the caller; the
// host only shows them, and passes through the same states.
//
// # Goroutines
//
//	run loop of a host           1 per id             until the server stops or nobody needs the id
//	console                      4 or 5 per WebSocket its handler, read loop, ping loop, stop watch and,
//	                                                  if the console wants them, alive messages
//	watcher                      4 per WebSocket      its handler, read loop, closer, stop watch
//	metrics, log of the flow     2 per session        until the session's journal is closed
//
// [Server.Run] waits for all of them; each handler waits for its own.
//
// # Stopping and failures
//
//   - When the context of Run ends, no further session starts. Running sessions end
//     with its cause, consoles are closed with code 1001, and Run returns when all
//     goroutines have ended. HTTP requests have 3 s to finish.
//   - A console that takes more than a minute to read one message is closed with
//     code 1008.
//   - A console is pinged every 20 s, and closed with code 1008 if it neither answers
//     nor sends nor reads anything until the next ping would be due. A holder that is
//     gone can come back; a view is forgotten.
//   - A watcher that takes more than 10 s to read one message is closed with code
//     1008. The session does not notice.
//   - A session that cannot start leaves its error as the problem of the id; consoles
//     that wait for it receive an error, and /readyz reports it.
package server
