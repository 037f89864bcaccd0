"""The user's source, compiled once."""

from __future__ import annotations

import builtins

import _ast  # ast without its helpers written in Python, which cost 2 ms to import

from assay.run.user_code import enter, enter_awaiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

# The user's code may put others in their place.
_compile, _eval = compile, eval

_TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COMPILE = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE

# Names whose use at the top level says that a running event loop is wanted.
_LOOP_NAMES = frozenset(("create_task", "ensure_future", "get_running_loop"))

_SCOPES = (_ast.Lambda, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)


class Program:
    """Statements, and the expression behind them whose value is wanted, if any."""

    def __init__(self, source: str, filename: str) -> None:
        """Compiles source. Raises SyntaxError and whatever else compile does."""
        tree, source = _parsed(source, filename)
        self.forms = len(tree.body)  # statements at the top level
        self.assigned = _assigned(tree.body)
        last = tree.body.pop() if _ends_in_value(tree.body, source) else None
        self._codes: list[CodeType] = [_compile(tree, filename, "exec", _COMPILE, dont_inherit=True)]
        if last is not None:
            value = _ast.Expression(last.value)
            self._codes.append(_compile(value, filename, "eval", _COMPILE, dont_inherit=True))

    @property
    def needs_loop(self) -> bool:
        """Whether it is to be run on the event loop, by run_awaiting."""
        return any(
            code.co_flags & _CO_COROUTINE or not _LOOP_NAMES.isdisjoint(code.co_names)
            for code in self._codes
        )

    def run(self, names: dict[str, Any]) -> Any:
        """Runs it with names as its globals and returns the last value, or None."""
        value = None
        names.setdefault("__builtins__", builtins)  # else it gets the kernel's own
        for code in self._codes:
            value = enter(_eval, code, names)
        return value

    async def run_awaiting(self, names: dict[str, Any]) -> Any:
        """Is run for a program that awaits, or uses the running loop."""
        value = None
        names.setdefault("__builtins__", builtins)
        for code in self._codes:
            value = enter(_eval, code, names)
            if code.co_flags & _CO_COROUTINE:
                value = await enter_awaiting(value)
        return value


def _parsed(source: str, filename: str) -> tuple[Any, str]:
    """Returns the tree of source, and source as Python: without IPython's syntax."""
    try:
        return _parse(source, filename), source
    except SyntaxError as error:
        refused = error
    from assay.run.ipython_syntax import translate

    translated = translate(source)
    if translated is None:
        raise refused
    return _parse(translated, filename), translated


def _parse(source: str, filename: str) -> Any:
    return _compile(source, filename, "exec", _TREE, dont_inherit=True)


def _ends_in_value(body: list[Any], source: str) -> bool:
    """Tells whether the last statement is an expression not ended by a semicolon."""
    if not body or not isinstance(body[-1], _ast.Expr):
        return False
    last: Any = body[-1]
    lines = source.encode("utf-8").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    rest = lines[last.end_lineno - 1][last.end_col_offset :].lstrip(b" \t\f")
    if rest.startswith(b"\\"):  # the semicolon may stand on the line below
        rest = lines[last.end_lineno].lstrip(b" \t\f")
    return not rest.startswith(b";")


def _assigned(body: list[Any]) -> set[str]:
    """Returns the names that statements bind at the top level, if they come to it."""
    names: set[str] = set()
    todo: list[Any] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, _ast.Name):
            if isinstance(node.ctx, _ast.Store):
                names.add(node.id)
        elif isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, _ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif not isinstance(node, _SCOPES):
            todo.extend(_children(node))
    return names


def _children(node: _ast.AST) -> list[_ast.AST]:
    children: list[_ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            children.extend(item for item in value if isinstance(item, _ast.AST))
        elif isinstance(value, _ast.AST):
            children.append(value)
    return children
