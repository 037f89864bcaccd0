"""ai() and gather(): the kernel's end of prompts that a code block gives to the agent."""

import json

from harness import KernelTest, Message

CALL = '__import__("assay.ai", fromlist=["ai"]).'


class TestAI(KernelTest):
    def call(self, function: str, arguments: str = '"1"') -> Message:
        """Calls a function of assay.ai as the agent does, and returns the execute_code's answer."""
        code = f"{CALL}{function}({arguments})"
        self.kernel.send("execute_code", code=code, session="1/" + function, agent_tx_id=function)
        answer = self.kernel.receive_until("execute_code_response", agent_tx_id=function)[-1]
        self.assertEqual(answer["status"], "ok", answer)
        return answer

    def next_prompt(self) -> Message:
        """Returns what the code of the session 1 asks next."""
        message: Message = json.loads(self.call("next_prompt")["result"])
        return message

    def start_block(self, code: str, session: str = "1") -> None:
        """Opens the prompts of the session 1 and starts a code block of a session, without waiting for its end."""
        self.call("open_prompts", '"1", globals()')
        self.kernel.send("execute_code", code=code, session=session, agent_tx_id="block")

    def receive_block_answer(self) -> Message:
        return self.kernel.receive_until("execute_code_response", agent_tx_id="block")[-1]

    def run_block(self, code: str, session: str = "1") -> Message:
        """Runs a code block that gets no reply, and returns its answer."""
        self.start_block(code, session)
        return self.receive_block_answer()

    def test_bl11_a_reply_is_the_value(self):
        self.start_block("x = await ai('How many?')\nx.upper()")
        self.assertEqual(self.next_prompt(), {"number": 1, "prompt": "How many?"})
        self.kernel.send("execute_code", code=CALL + 'reply("1", 1, "six \\u2028\\ud83d\\ude00")', session="1/reply")
        self.assertEqual(self.receive_block_answer()["result"], repr("six \u2028\ud83d\ude00".upper()))

    def test_bl11_several_prompts_at_once_are_replied_to_in_any_order(self):
        self.start_block("async def f(n):\n    return n, await ai(f'{n}')\ngather(*map(f, range(3)))")
        for number in (1, 2, 3):
            self.assertEqual(self.next_prompt(), {"number": number, "prompt": str(number - 1)})
        for number in (3, 1, 2):
            self.kernel.send("execute_code", code=f'{CALL}reply("1", {number}, "r{number}")', session="1/reply")
        self.assertEqual(self.receive_block_answer()["result"], "[(0, 'r1'), (1, 'r2'), (2, 'r3')]")

    def test_bl11_an_error_is_raised(self):
        self.start_block("try:\n    await ai('go')\nexcept RuntimeError as error:\n    print(error)")
        self.next_prompt()
        self.kernel.send("execute_code", code=CALL + 'reply("1", 1, "", "no idea")', session="1/reply")
        self.assertEqual(self.receive_block_answer()["stdout"], "no idea\n")

    def test_bl11_a_prompt_that_nobody_awaits_any_more_is_cancelled(self):
        self.start_block("import asyncio\ntask = asyncio.ensure_future(ai('go'))\nawait asyncio.sleep(0)\ntask.cancel()")
        self.assertEqual(self.next_prompt()["prompt"], "go")
        self.assertEqual(self.next_prompt(), {"number": 1, "cancelled": True})
        self.call("reply", '"1", 1, "late"')
        self.call("reply", '"1", 2, "to nothing"')
        self.call("reply", '"2", 1, "to nobody"')

    def test_bl11_close_ends_all_waits(self):
        self.start_block("import asyncio\ntask = asyncio.ensure_future(ai('go'))\nawait asyncio.sleep(0)")
        self.receive_block_answer()
        self.next_prompt()
        self.kernel.send("execute_code", code=CALL + 'next_prompt("1")', session="n", agent_tx_id="waits")
        self.kernel.send("execute_code", code=CALL + 'close_prompts("1")', session="c", agent_tx_id="close")
        answers = {}
        while len(answers) < 2:
            answer = self.kernel.receive_until("execute_code_response")[-1]
            answers[answer["agent_tx_id"]] = (answer["status"], answer["result"])
        self.assertEqual(answers, {"waits": ("ok", None), "close": ("ok", None)})
        answer = self.kernel.execute_code("await task")
        self.assertEqual(answer["error"], "the code block that asked the agent has ended")
        self.assertIsNone(self.call("next_prompt")["result"])
        self.call("close_prompts")

    def test_bl11_prompts_that_are_opened_again_end_the_old_ones(self):
        self.start_block("import asyncio\ntask = asyncio.ensure_future(ai('go'))\nawait asyncio.sleep(0)")
        self.receive_block_answer()
        answer = self.run_block("await task")
        self.assertEqual(answer["error"], "the code block that asked the agent has ended")

    def test_bl11_ai_that_cannot_work_says_why(self):
        nowhere = "ai() works in the agent's code blocks only, and not in conversations that ai() has started"
        for code, session, error in (
            ("await ai('x')", "1-1", nowhere),
            ("await ai(3)", "1", "ai() takes a prompt of type str, not int"),
            ("await ai('x' * 100_001)", "1", "ai() takes a prompt of at most 100000 characters, not 100001"),
            ("import asyncio\nasyncio.run(ai('x'))", "1",
             "await ai() in the block itself: while asyncio.run() or another event loop runs, no reply can arrive"),
        ):  # fmt: skip
            with self.subTest(code=code):
                answer = self.run_block(code, session)
                self.assertEqual((answer["status"], answer["error"]), ("error", error))
                self.assertNotIn("/assay/", answer["exception"])
        self.assertEqual(self.run_failing("await ai('x')").error_output["evalue"], nowhere)

    def test_bl11_names_of_the_user_stay(self):
        self.run_ok("ai = 3")
        self.call("open_prompts", '"1", globals()')
        self.assertEqual(self.run_ok("ai").shown_text, "3")
        self.assertEqual(self.run_ok("gather.__name__").shown_text, "'gather'")
