"""The user's source, compiled."""

from __future__ import annotations

import builtins

import _ast  # ast without its helpers written in Python, which cost 2 ms to import

from assay.run.user_code import await_user_code, call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

# Kept here because the user's code may replace them in the module builtins.
_compile, _eval = compile, eval

_PARSE_FLAGS = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COMPILE_FLAGS = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE
_FUTURE_FLAGS = 0x1FE0000  # the flags of all features of __future__, which takes long to import

# Functions of asyncio that need a running event loop; used at the top level they ask for one.
_EVENT_LOOP_NAMES = frozenset(("create_task", "ensure_future", "get_running_loop"))

_NESTED_SCOPES = (_ast.Lambda, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)


class CompiledCode:
    """The compiled code of a cell or snippet: its statements and, separately, the last expression."""

    def __init__(self, source: str, filename: str, future_flags: int = 0) -> None:
        """Compiles source, which may contain IPython's syntax. Raises SyntaxError and other errors of compile().

        future_flags are the features of __future__ that earlier code has imported. The attribute
        future_flags adds those that this code imports.
        """
        tree, source = _parse_with_magics(source, filename)
        flags = _COMPILE_FLAGS | future_flags
        self.statement_count = len(tree.body)  # statements at the top level
        self.assigned_names = _assigned_names(tree.body)
        last = tree.body.pop() if _ends_with_value(tree.body, source) else None
        self._codes: list[CodeType] = [_compile(tree, filename, "exec", flags, dont_inherit=True)]
        self.future_flags = self._codes[0].co_flags & _FUTURE_FLAGS
        if last is not None:
            value = _ast.Expression(last.value)
            flags |= self.future_flags
            self._codes.append(_compile(value, filename, "eval", flags, dont_inherit=True))

    @property
    def needs_event_loop(self) -> bool:
        """Whether the code awaits or uses the running event loop, and so must be run by run_async."""
        return any(
            code.co_flags & _CO_COROUTINE or not _EVENT_LOOP_NAMES.isdisjoint(code.co_names)
            for code in self._codes
        )

    def run(self, namespace: dict[str, Any]) -> Any:
        """Runs the code with namespace as its globals. Returns the value of the last expression, or None.

        Raises whatever the code raises.
        """
        value = None
        namespace.setdefault("__builtins__", builtins)  # else it gets the kernel's private builtins
        for code in self._codes:
            value = call_user_code(_eval, code, namespace)
        return value

    async def run_async(self, namespace: dict[str, Any]) -> Any:
        """Runs the code on the event loop with namespace as its globals. Returns the last value like run."""
        value = None
        namespace.setdefault("__builtins__", builtins)
        for code in self._codes:
            value = call_user_code(_eval, code, namespace)
            if code.co_flags & _CO_COROUTINE:
                value = await await_user_code(value)
        return value


def _parse_with_magics(source: str, filename: str) -> tuple[Any, str]:
    """Returns the syntax tree of source, and source with IPython's syntax replaced by calls.

    Source that is valid Python is not searched for IPython's syntax. Raises SyntaxError.
    """
    try:
        return _parse(source, filename), source
    except SyntaxError as error:
        python_error = error
    from assay.run.ipython_syntax import translate_ipython_syntax

    translated = translate_ipython_syntax(source)
    if translated is None:
        raise python_error
    return _parse(translated, filename), translated


def _parse(source: str, filename: str) -> Any:
    return _compile(source, filename, "exec", _PARSE_FLAGS, dont_inherit=True)


def _ends_with_value(body: list[Any], source: str) -> bool:
    """Returns whether the last statement is an expression without a semicolon after it."""
    if not body or not isinstance(body[-1], _ast.Expr):
        return False
    last: Any = body[-1]
    lines = source.encode("utf-8").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    rest = lines[last.end_lineno - 1][last.end_col_offset :].lstrip(b" \t\f")
    if rest.startswith(b"\\"):  # the semicolon may be on the next line
        rest = lines[last.end_lineno].lstrip(b" \t\f")
    return not rest.startswith(b";")


def _assigned_names(body: list[Any]) -> set[str]:
    """Returns the names that statements may assign at the top level: in all branches, not inside functions."""
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
        elif not isinstance(node, _NESTED_SCOPES):
            todo.extend(_child_syntax_nodes(node))
    return names


def _child_syntax_nodes(node: _ast.AST) -> list[_ast.AST]:
    children: list[_ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            children.extend(item for item in value if isinstance(item, _ast.AST))
        elif isinstance(value, _ast.AST):
            children.append(value)
    return children
