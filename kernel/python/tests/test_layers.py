"""The layers of the package assay: which part imports which, and that no modules import each other in a circle.

Every import counts: at the top of a module, inside a function, by hidden(), and for type checkers only.
"""

from __future__ import annotations

import ast
import pathlib
import unittest

from harness import PROGRAM

PACKAGE = pathlib.Path(PROGRAM) / "assay"

# A line is a part (a subpackage, or a module of assay itself) and the parts that
# it may import. Each part may import only parts above it.
LAYERS = """
sealing:
wire:        sealing
run:         sealing wire
display:     run
introspect:  run wire sealing
reactive:    run wire
widgets:     reactive introspect display run wire
sandbox:
dispatcher:  introspect run wire sealing
kernel:      dispatcher widgets reactive display run wire sealing
pool:        kernel sandbox introspect display run wire
__main__:    kernel
__init__:    widgets reactive sealing
"""


def table() -> dict[str, set[str]]:
    """Returns what each part may import, in the order of LAYERS."""
    lines = (line.partition(":") for line in LAYERS.split("\n") if line)
    return {part: set(imported.split()) for part, _, imported in lines}


def part_of(module: str) -> str:
    """Returns the part that a module belongs to: "run" for "assay.run.cell", "kernel" for "assay.kernel"."""
    return module.split(".")[1] if "." in module else "__init__"


def modules() -> dict[str, pathlib.Path]:
    """Returns the files of the package by the names of their modules."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: pathlib.Path, known: dict[str, pathlib.Path]) -> set[str]:
    """Returns the modules of the package that a file imports anywhere in it.

    `from assay.run import work` imports assay.run.work, `from assay.run.work import
    Work` too. A package that is only on the way to its module does not count.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            module = node.module or ""
            found |= {
                name if (name := f"{module}.{alias.name}") in known else module
                for alias in node.names
            }
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hidden":
            found.add(ast.literal_eval(node.args[0]))  # see assay.sealing.own
    return found & set(known)


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Returns nodes that lead in a circle, the first again at the end; [] if there are none."""
    done: set[str] = set()

    def walk(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node not in done:
            for other in sorted(graph.get(node, ())):
                if found := walk(other, [*way, node]):
                    return found
            done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])


class TestLayers(unittest.TestCase):
    def setUp(self) -> None:
        self.modules = modules()
        self.graph = {name: imports(path, self.modules) for name, path in self.modules.items()}

    def test_imports_follow_the_table(self) -> None:
        allowed = table()
        self.assertEqual(set(map(part_of, self.modules)), set(allowed), "the parts of the table")
        for module, imported in sorted(self.graph.items()):
            part = part_of(module)
            for other in sorted(imported):
                if part_of(other) not in allowed[part] | {part}:
                    self.fail(f"{module} imports {other}, which its line in the table does not list")

    def test_the_table_has_no_line_that_is_not_needed(self) -> None:
        used: dict[str, set[str]] = {}
        for module, imported in self.graph.items():
            used.setdefault(part_of(module), set()).update(map(part_of, imported))
        for part, allowed in table().items():
            self.assertEqual(allowed - used[part], set(), f"what {part} may import but does not")

    def test_the_table_points_upwards_only(self) -> None:
        above: set[str] = set()
        for part, allowed in table().items():
            self.assertLessEqual(allowed, above, part)
            above.add(part)

    def test_no_modules_import_each_other_in_a_circle(self) -> None:
        self.assertEqual(cycle_in(self.graph), [])

    def test_a_circle_is_found(self) -> None:
        self.assertEqual(cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])
        self.assertEqual(cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])

    def test_every_folder_is_a_package(self) -> None:
        folders = {path.parent for path in self.modules.values()}
        for folder in folders:
            self.assertTrue((folder / "__init__.py").is_file(), folder)
            self.assertLessEqual(len(folder.relative_to(PACKAGE).parts), 1, "the embedding has no deeper folders")


if __name__ == "__main__":
    unittest.main()
