"""Runs notebooks here and in ipykernel and compares the outputs.

_normalize removes the intended differences: addresses, the shape below a pandas
frame, which is always shown here, and the carriage returns of the terminal in
which ipykernel runs commands.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import tempfile
from typing import Any, NamedTuple

from harness import MATPLOTLIB_CACHE, TIMEOUT, KernelTest, Message, skip_unless_installed

NOTEBOOKS = pathlib.Path(__file__).resolve().parent / "notebooks"


class CellOutcome(NamedTuple):
    """What is compared of a cell's run: results, printed text, the error, and MIME types of outputs."""

    results: list[str]  # text/plain of the last expression's value
    stdout: str
    stderr: str
    error: str  # the last line of the traceback
    rich: list[list[str]]  # the MIME types of each output, without text/plain


class TestNotebooks(KernelTest):
    @skip_unless_installed("ipykernel", "jupyter_client", "numpy", "pandas", "matplotlib")
    def test_pk4_notebooks_have_the_same_outputs_as_in_ipykernel(self) -> None:
        for path in sorted(NOTEBOOKS.glob("*.ipynb")):
            sources = _cell_sources(path)
            self.assertEqual(len(sources), 20, path.name)
            expected = _run_notebook_in_ipykernel(sources)
            self.kernel.close()
            self.setUp()
            for number, (source, outcome) in enumerate(zip(sources, expected), 1):
                with self.subTest(notebook=path.name, cell=number, source=source):
                    self.assertEqual(self._run_notebook_in_assay_kernel(source)._asdict(), outcome._asdict())

    def _run_notebook_in_assay_kernel(self, source: str) -> CellOutcome:
        run = self.kernel.run_cell(source)
        return _make_cell_outcome(run.outputs, run.text(), run.text("stderr"))


def _cell_sources(path: pathlib.Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _run_notebook_in_ipykernel(sources: list[str]) -> list[CellOutcome]:
    from jupyter_client.manager import start_new_kernel  # type: ignore[import]

    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "HOME": folder,
            "MPLCONFIGDIR": MATPLOTLIB_CACHE,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # keeps its debugger from printing a warning
        }
        manager, client = start_new_kernel(
            kernel_name="python3", cwd=folder, env=environment, startup_timeout=TIMEOUT
        )
        try:
            return [_run_cell(client, source) for source in sources]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _run_cell(client: Any, source: str) -> CellOutcome:
    outputs: list[Message] = []
    texts = {"stdout": "", "stderr": ""}

    def keep(message: Message) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            texts[content["name"]] += content["text"]
        elif kind in ("execute_result", "display_data", "error"):
            outputs.append({"output_type": kind, **content})

    client.execute_interactive(
        source, output_hook=keep, timeout=TIMEOUT, allow_stdin=False, stop_on_error=False
    )
    return _make_cell_outcome(outputs, texts["stdout"], texts["stderr"])


def _make_cell_outcome(outputs: list[Message], stdout: str, stderr: str) -> CellOutcome:
    shown = [output for output in outputs if output["output_type"] != "error"]
    results = [o["data"]["text/plain"] for o in shown if o["output_type"] == "execute_result"]
    errors = [o["traceback"][-1].splitlines()[-1] for o in outputs if o not in shown]
    rich = [sorted(set(output["data"]) - {"text/plain"}) for output in shown]
    return CellOutcome(
        [_normalize(text) for text in results],
        _normalize(stdout),
        _normalize(stderr),
        _normalize("".join(errors)),
        [mimes for mimes in rich if mimes],
    )


def _normalize(text: str) -> str:
    text = re.sub(r"\x1b\[[\d;]*m", "", text.replace("\r\n", "\n"))
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x", text)
    return re.sub(r"\n\n\[\d+ rows x \d+ columns\]$", "", text)
