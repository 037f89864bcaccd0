import asyncio
from assay_agent import connect

async def work(agent, query):
    run = await agent.create_and_run("import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))")
    agent.submit(f"<EVAL_ANSWER>{run['logs']}</EVAL_ANSWER> [EVAL_COMPLETE]")

async def main():
    async with connect() as agent:
        await agent.serve(work)

asyncio.run(main())
