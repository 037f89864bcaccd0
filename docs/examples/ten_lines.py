import asyncio
from assay_agent import connect

async def work(agent, query):
    run = await agent.create_and_run("import os\nprint(sorted(os.listdir('data')) if os.path.isdir('data') else [])")
    agent.submit(f"<EVAL_ANSWER>{run['logs'].replace(chr(39), chr(34))}</EVAL_ANSWER> [EVAL_COMPLETE]")

async def main():
    async with connect() as agent:
        await agent.serve(work)

asyncio.run(main())
