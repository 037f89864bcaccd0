"""An agent that speaks the Agent Client Protocol and does what a script says, for tests.

    python3 agent.py SCRIPT

SCRIPT is a JSON object, or the path of a file with one: {"prompts": [[STEP, …], …]}, and, if wanted, "initialize" with fields of
the response, "before_initialize" with a line to print before it, and "needs_auth".
Each prompt of a session plays the next list of steps; a new session begins with the list after that. See Turn for the steps.
"""

import json
import os
import subprocess
import sys
import threading


def log(text):
    print(text, file=sys.stderr, flush=True)


class Client:
    """The connection to the client: JSON-RPC messages as lines of the standard streams."""

    def __init__(self):
        self.lock = threading.Lock()
        self.last_id = 0
        self.answers = {}
        self.answered = threading.Condition()

    def write(self, text):
        with self.lock:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def send(self, **message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def request(self, method, params):
        self.last_id += 1
        number = f"agent-{self.last_id}"
        self.send(id=number, method=method, params=params)
        with self.answered:
            self.answered.wait_for(lambda: number in self.answers)
            return self.answers.pop(number)

    def deliver(self, message):
        with self.answered:
            self.answers[message["id"]] = message.get("result", message.get("error"))
            self.answered.notify_all()


class Tools:
    """A server of tools, started as a session/new request says: the Model Context Protocol over its standard streams."""

    def __init__(self, server):
        env = {**os.environ, **{v["name"]: v["value"] for v in server["env"]}}
        self.process = subprocess.Popen([server["command"], *server["args"]], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent.py", "version": "1"}})
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.last_id:
                return answer["result"]

    def call(self, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})


class Turn:
    """One prompt. Each method is a step, {METHOD: ARGUMENT}; one that returns something ends the turn with that result."""

    def __init__(self, client, session, tools, params):
        self.client, self.session, self.tools = client, session, tools
        self.text = params["prompt"][0]["text"]
        self.cancelled = threading.Event()
        self.output = ""
        self.calls = 0

    def play(self, steps):
        for step in steps:
            for name, argument in step.items():
                result = getattr(self, name)(argument)
                if result is not None:
                    return result
        return {"stopReason": "end_turn"}

    def update(self, update):
        self.client.send(method="session/update", params={"sessionId": self.session, "update": update})

    def say(self, text):
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def think(self, text):
        self.update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}})

    def flood(self, size):
        self.say("x" * size)

    def echo_prompt(self, _):
        self.say(f"[{self.session}] {self.text}")

    def announce(self, call):
        """Calls a tool of the notebook and reports the call, as most programs do."""
        name, arguments = call
        self.calls += 1
        number = f"call-{self.session}-{self.calls}"
        self.update({"sessionUpdate": "tool_call", "toolCallId": number, "title": f"mcp__assay__{name}", "rawInput": arguments, "status": "pending"})
        self.call(call)
        content = [{"type": "content", "content": {"type": "text", "text": self.output}}]
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": number, "status": "completed", "content": content})

    def call(self, call):
        result = self.tools.call(*call)
        self.output = "\n".join(piece.get("text", "") for piece in result["content"])

    def submit(self, template):
        """Submits a text in which OUTPUT is the last line of JSON in the result of the last call."""
        found = [line for line in self.output.splitlines() if line.startswith(("{", "["))]
        summary = template.replace("OUTPUT", found[-1] if found else self.output)
        self.announce(["submit_response", {"summary": summary, "next_status": "done"}])

    def request(self, request):
        """Sends a request and says the answer."""
        self.say(json.dumps(self.client.request(*request)))

    def notify(self, message):
        self.client.send(**message)

    def print(self, text):
        self.client.write(text)

    def log(self, text):
        log(text)

    def touch(self, path):
        with open(path, "w") as file:
            file.write(f"{os.getpid()}\n")

    def await_cancel(self, _):
        self.cancelled.wait()

    def hang(self, _):
        threading.Event().wait()

    def close_stdout(self, _):
        os.close(1)
        threading.Event().wait()

    def exit(self, status):
        os._exit(status)

    def end(self, result):
        return result

    def fail(self, error):
        return {"error": error}


def main():
    script = sys.argv[1]
    if not script.startswith("{"):
        with open(script) as file:
            script = file.read()
    script = json.loads(script)
    client, sessions, turns, prompts = Client(), {}, {}, iter(script.get("prompts", []))
    authenticated = not script.get("needs_auth")

    def run(number, turn, steps):
        result = turn.play(steps)
        client.send(id=number, **(result if "error" in result else {"result": result}))

    for line in sys.stdin:
        message = json.loads(line)
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        log(f"< {method or 'response'}")
        if method is None:
            client.deliver(message)
        elif method == "initialize":
            if "before_initialize" in script:
                client.write(script["before_initialize"])
            log(f"initialize {json.dumps(params, sort_keys=True)}")
            client.send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}, **script.get("initialize", {})})
        elif method == "authenticate":
            authenticated = True
            log(f"authenticate {params['methodId']}")
            client.send(id=number, result={})
        elif method == "session/new" and not authenticated:
            client.send(id=number, error={"code": -32000, "message": "Authentication required"})
        elif method == "session/new":
            log(f"session/new {params['cwd']}")
            session = f"session-{len(sessions) + 1}"
            sessions[session] = Tools(params["mcpServers"][0])
            client.send(id=number, result={"sessionId": session})
            client.send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": "available_commands_update", "availableCommands": []}})
        elif method == "session/prompt":
            turn = turns[params["sessionId"]] = Turn(client, params["sessionId"], sessions[params["sessionId"]], params)
            threading.Thread(target=run, args=(number, turn, next(prompts)), daemon=True).start()
        elif method == "session/cancel":
            turns[params["sessionId"]].cancelled.set()


main()
