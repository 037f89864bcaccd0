"""What the stand-ins of agent programs share: a client of MCP over stdio, and one of HTTP.

A stand-in sends what the program sent when its requests were recorded: the same paths, headers
and members, but one of its own tools in place of a dozen, and short prompts.
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request


class Notebook:
    """The tools of the MCP server that is started with this entry of .mcp.json."""

    def __init__(self, config):
        self.process = subprocess.Popen(
            [config["command"], *config["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **config.get("env", {})},
        )
        self.sent = 0
        client = {"name": "standin", "version": "1"}
        self.instructions = self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client).get("instructions", "")
        self.send({"method": "notifications/initialized"})
        self.tools = self.request("tools/list")["tools"]

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        """Send a request and return its result; exit if it fails or the server has gone."""
        self.sent += 1
        self.send({"id": self.sent, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.sent:
                return message["result"] if "result" in message else sys.exit(f"{method}: {message['error']}")
        sys.exit("the MCP server has gone")

    def call(self, name, arguments):
        """Call a tool and return the texts of its result."""
        result = self.request("tools/call", name=name, arguments=arguments)
        return [part["text"] for part in result["content"] if part["type"] == "text"]


def print_environment():
    """Print the environment with each line reversed, which no redaction recognizes."""
    for name, value in os.environ.items():
        print(f"{name}={value}"[::-1], file=sys.stderr)


def post(url, headers, body):
    """Post JSON and return the response; exit with the text of an error, as the program does."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        return urllib.request.urlopen(request, timeout=300)
    except urllib.error.HTTPError as error:
        sys.exit(f"API Error: {error.code} {error.read().decode()}")


def events(response, end=None):
    """Yield the data of the events of a stream, up to the one with the text end."""
    assert response.headers["Content-Type"].startswith("text/event-stream"), response.headers
    for line in response:
        if end and line == f"data: {end}\n".encode():
            return
        if line.startswith(b"data: "):
            yield json.loads(line[len(b"data: "):])
