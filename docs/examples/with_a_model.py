"""An agent that calls a model: ANTHROPIC_API_KEY=… assay run CASES --agent 'python3 with_a_model.py'

It offers the model one tool that runs code in a cell, and one that submits.
MODEL and ANTHROPIC_BASE_URL choose another model and another server.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request

from assay_agent import connect

TEXT = {"type": "string"}
TOOLS = [
    {
        "name": "run_python",
        "description": "Run code in a new cell of the notebook; returns what it printed, or the traceback.",
        "input_schema": {"type": "object", "properties": {"code": TEXT}, "required": ["code"]},
    },
    {
        "name": "submit_response",
        "description": "Hand in the answer, in the form that the task asks for.",
        "input_schema": {"type": "object", "properties": {"summary": TEXT}, "required": ["summary"]},
    },
]


def call_model(messages):
    """Call the Messages API and return its reply; raises what it says if it refuses."""
    body = {"model": os.environ.get("MODEL", "claude-sonnet-4-5"), "max_tokens": 4096, "tools": TOOLS, "messages": messages}
    url = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com") + "/v1/messages"
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01", "content-type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=300) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error}: {error.read().decode(errors='replace')}") from None


async def answer_query(agent, query):
    """Let the model run code until it submits or has nothing more to run."""
    messages = [{"role": "user", "content": query.prompt()}]
    usage = {"input_tokens": 0, "output_tokens": 0}
    while True:
        reply = await asyncio.to_thread(call_model, messages)
        usage = {name: count + reply["usage"][name] for name, count in usage.items()}
        agent.report_usage(**usage)
        agent.add_history_entry("assistant", reply["content"], reply["usage"])  # a call of submit_response in it submits the answer
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        if not calls or any(call["name"] == "submit_response" for call in calls):
            return
        results = []
        for call in calls:
            run = await agent.create_and_run(call["input"]["code"])
            text = (run.get("logs") or "") + (run.get("exception") or run.get("error") or "")
            results.append({"type": "tool_result", "tool_use_id": call["id"], "content": text or "(no output)"})
        agent.add_history_entry("user", results)
        messages += [{"role": "assistant", "content": reply["content"]}, {"role": "user", "content": results}]


async def main():
    async with connect() as agent:
        await agent.serve(answer_query)


asyncio.run(main())
