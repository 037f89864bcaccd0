"""Translates IPython's syntax to Python: %magic, %%magic, !command, x = !command, help?.

Used only for a source that Python refuses, since none of these is Python.
"""

from __future__ import annotations

import re

from assay.run.lazy_ipython import lazy_ipython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Match = re.Match[str]

# Whole cells and beginnings of lines that are IPython's.
_CELL_MAGIC = re.compile(r"(?:[ \t]*\n)*%%(?P<name>[\w.]+)[ \t]*(?P<line>[^\n]*)\n?(?P<body>.*)", re.S)
_LINE_ESCAPE = re.compile(r"[ \t]*(?=[%!?])")
_HELP_ESCAPE = re.compile(r"[ \t]*(?=%{0,2}[\w.*]+\?\??[ \t]*(?:\n|\Z))")
_ASSIGNED_ESCAPE = re.compile(r"(?<![=!<>:+*/%&|^@-])=[ \t]*(?=[!%][^=])")
_REST_OF_LINE = re.compile(r"(?:[^\\\n]|\\.|\\\Z)*", re.S)  # with the lines that backslashes join to it

# A magic without its percent sign, which IPython accepts if it is alone in a cell.
_BARE_MAGIC = re.compile(
    r"\s*(?:cat|cd|conda|cp|env|ls|man|mkdir|mv|pip|rm|rmdir|run|time|timeit|who|whos)"
    r"[ \t]+[^\s=(,\[:][^\n]*\s*\Z"
)

# Splits any source into pieces: strings, comments, brackets, line ends and the rest.
_PIECE = re.compile(
    r"""
    (?P<text> \"{3} (?:[^\\]|\\.)*? (?:\"{3}|\Z)
            | '{3} (?:[^\\]|\\.)*? (?:'{3}|\Z)
            | \" (?:[^"\\\n]|\\.)* \"?
            | ' (?:[^'\\\n]|\\.)* '?
            | \#[^\n]* | \\. )
  | (?P<opening> [(\[{] )
  | (?P<closing> [)\]}] )
  | (?P<end> \n )
  | (?P<code> [^"'\#()\[\]{}\\\n]+ | \\ )
    """,
    re.S | re.X,
)


def translate_ipython_syntax(source: str) -> str | None:
    """Returns source as Python, with IPython's syntax replaced by calls of get_ipython().

    Returns None if source has no such syntax. IPython itself translates it if it is installed. A
    cell that is indented as a whole is dedented.
    """
    source, before = _dedent_cell(source), source
    if not _has_ipython_syntax(source):
        return source if source != before else None
    ipython = lazy_ipython.load_shell()
    if ipython is not None:
        rest = source.lstrip("\n")  # IPython would drop the empty lines
        return "\n" * (len(source) - len(rest)) + str(ipython.transform_cell(rest))
    return _translate_escapes("%" + source.lstrip() if _BARE_MAGIC.match(source) else source)


def _dedent_cell(source: str) -> str:
    """Returns source without the indentation of its first line, if it has one, on each line."""
    first = re.match(r"(?:[ \t]*\n)*([ \t]+)\S", source)
    return source if first is None else re.sub(f"(?m)^{first[1]}", "", source)


def _has_ipython_syntax(source: str) -> bool:
    whole = _CELL_MAGIC.match(source) or _BARE_MAGIC.match(source)
    return whole is not None or next(_find_ipython_escapes(source), None) is not None


def _find_ipython_escapes(source: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end, in source, of each magic, command or help request outside strings and brackets."""
    at = 0
    while at < len(source):
        found = _LINE_ESCAPE.match(source, at) or _HELP_ESCAPE.match(source, at)
        if found is None:
            found, at = _find_assigned_escape(source, at)
        rest = found and _REST_OF_LINE.match(source, found.end())
        if rest is not None:
            at = rest.end()
            yield rest.start(), at


def _find_assigned_escape(source: str, at: int) -> tuple[Match | None, int]:
    """Searches the statement at position at for `name = %magic` or `name = !command`.

    Returns the match of the equals sign and its end position. If there is none, returns None and
    the end of the statement.
    """
    depth = 0
    while at < len(source):
        piece = _PIECE.match(source, at)
        assert piece is not None
        if piece.lastgroup == "code" and not depth:
            found = _ASSIGNED_ESCAPE.search(source, at, piece.end() + 1)
            if found is not None:
                return found, found.end()
        at = piece.end()
        depth = max(0, depth + {"opening": 1, "closing": -1}.get(piece.lastgroup or "", 0))
        if piece.lastgroup == "end" and not depth:
            break
    return None, at


def _translate_escapes(source: str) -> str:
    """Returns source with each magic, command and help request replaced by a call. Line numbers stay the same."""
    cell = _CELL_MAGIC.match(source)
    if cell is not None:
        before = source[: cell.start("name")].count("\n")
        return "\n" * before + _format_method_call("run_cell_magic", *cell.group("name", "line", "body"))
    pieces: list[str] = []
    done = 0
    for start, end in _find_ipython_escapes(source):
        pieces.append(source[done:start])
        is_assigned = source[:start].rstrip(" \t").endswith("=")
        pieces.append(_escape_to_call(source[start:end], is_assigned))
        pieces.append("\n" * source.count("\n", start, end))
        done = end
    return "".join((*pieces, source[done:]))


def _escape_to_call(escape: str, is_assigned: bool) -> str:
    """Returns the call of get_ipython() that a magic, command or help request stands for."""
    sign, rest = escape[0], escape[1:].strip()
    if sign == "!":
        wants_output = is_assigned or rest.startswith("!")
        return _format_method_call("getoutput" if wants_output else "system", rest.lstrip("!"))
    rest = rest.replace("\\\n", " ")
    if sign == "%" and not rest.endswith("?"):
        name, _, line = rest.partition(" ")
        return _format_method_call("run_line_magic", name, line.strip())
    return _format_method_call("run_line_magic", "pinfo", escape.strip(" \t%?"))


def _format_method_call(method: str, *arguments: str) -> str:
    """Returns the source of a call of a method of get_ipython() with string arguments."""
    return f"get_ipython().{method}({', '.join(map(repr, arguments))})"
