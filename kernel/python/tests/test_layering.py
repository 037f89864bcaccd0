"""Checks which part of the package assay imports which, and that there is no import cycle.

Every import counts: at the top of a module, inside a function, and those for type checkers only.
"""

from __future__ import annotations

import ast
import pathlib
import unittest

from harness import IMPORT_ROOT

PACKAGE = pathlib.Path(IMPORT_ROOT) / "assay"

# Each line has a part, which is a subpackage or a module of assay itself, and the
# parts that it may import. A part may import only parts in the lines above its own.
LAYERS = """
wire:
run:         wire
display:     run
introspect:  run wire
reactive:    run wire
widgets:     reactive introspect display run wire
sandbox:
ai:          run
dispatcher:  introspect run wire
kernel:      dispatcher widgets reactive display run wire
pool:        kernel sandbox introspect display run wire
__main__:    kernel
__init__:    widgets reactive wire
"""


def parse_layers() -> dict[str, set[str]]:
    """Returns the parts of the package that each part may import, in the order of the table LAYERS."""
    lines = (line.partition(":") for line in LAYERS.split("\n") if line)
    return {part: set(imported.split()) for part, _, imported in lines}


def package_part_of_module(module: str) -> str:
    """Returns the part of the package to which a module belongs: "run" for "assay.run.cell".

    For a module that is in no folder it is the module: "kernel" for "assay.kernel".
    """
    return module.split(".")[1] if "." in module else "__init__"


def find_modules() -> dict[str, pathlib.Path]:
    """Returns the source file of each module of the package, by module name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def find_imports(path: pathlib.Path, known: dict[str, pathlib.Path]) -> set[str]:
    """Returns those of the known modules that a source file imports anywhere in it.

    Both `from assay.run import work` and `from assay.run.work import Work` count as an import of
    assay.run.work, and of nothing else.
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
    return found & set(known)


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Returns the nodes of a cycle in a graph, with the first one again at the end; [] if there is no cycle."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node not in done:
            for other in sorted(graph.get(node, ())):
                if found := walk(other, [*path, node]):
                    return found
            done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])


class TestLayers(unittest.TestCase):
    def setUp(self) -> None:
        self.modules = find_modules()
        self.graph = {
            name: find_imports(path, self.modules) for name, path in self.modules.items()
        }

    def test_imports_follow_the_layer_table(self) -> None:
        allowed = parse_layers()
        self.assertEqual(set(map(package_part_of_module, self.modules)), set(allowed), "the parts of the table")
        for module, imported in sorted(self.graph.items()):
            part = package_part_of_module(module)
            for other in sorted(imported):
                if package_part_of_module(other) not in allowed[part] | {part}:
                    self.fail(f"{module} imports {other}, which its line in the table does not list")

    def test_every_entry_of_the_layer_table_is_used(self) -> None:
        used: dict[str, set[str]] = {}
        for module, imported in self.graph.items():
            used.setdefault(package_part_of_module(module), set()).update(map(package_part_of_module, imported))
        for part, allowed in parse_layers().items():
            self.assertEqual(allowed - used[part], set(), f"what {part} may import but does not")

    def test_the_layer_table_points_upwards_only(self) -> None:
        above: set[str] = set()
        for part, allowed in parse_layers().items():
            self.assertLessEqual(allowed, above, part)
            above.add(part)

    def test_there_is_no_import_cycle(self) -> None:
        self.assertEqual(find_cycle(self.graph), [])

    def test_find_cycle_finds_cycles_only(self) -> None:
        self.assertEqual(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])
        self.assertEqual(find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])

    def test_every_folder_is_a_package(self) -> None:
        folders = {path.parent for path in self.modules.values()}
        for folder in folders:
            self.assertTrue((folder / "__init__.py").is_file(), folder)
            self.assertLessEqual(len(folder.relative_to(PACKAGE).parts), 1, "python.go embeds no deeper folders")


if __name__ == "__main__":
    unittest.main()
