"""IPython's syntax in a source: %magic, %%magic, !command, x = !command, help?.

A source is looked at only where Python refuses it: none of these is Python.
"""

from __future__ import annotations

import re

from assay.run.lazy_ipython import shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Match = re.Match[str]

_CELL = re.compile(r"(?:[ \t]*\n)*%%(?P<name>[\w.]+)[ \t]*(?P<line>[^\n]*)\n?(?P<body>.*)", re.S)
_LINE = re.compile(r"[ \t]*(?=[%!?])")
_HELP = re.compile(r"[ \t]*(?=%{0,2}[\w.*]+\?\??[ \t]*(?:\n|\Z))")
_ASSIGNED = re.compile(r"(?<![=!<>:+*/%&|^@-])=[ \t]*(?=[!%][^=])")
_REST = re.compile(r"(?:[^\\\n]|\\.|\\\Z)*", re.S)  # of a line, with those it is joined to

# A magic without its sign, which IPython understands where it is alone.
_BARE = re.compile(
    r"\s*(?:cat|cd|conda|cp|env|ls|man|mkdir|mv|pip|rm|rmdir|run|time|timeit|who|whos)"
    r"[ \t]+[^\s=(,\[:][^\n]*\s*\Z"
)

# What any source is made of, piece by piece.
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


def translate(source: str) -> str | None:
    """Returns source as Python, with calls of get_ipython() in the place of IPython's syntax.

    None where it has no such syntax. Where the interpreter has IPython, that
    does it. A cell that is indented as a whole is moved to the left.
    """
    source, before = _outdented(source), source
    if not _is_special(source):
        return source if source != before else None
    ipython = shell.load()
    if ipython is not None:
        rest = source.lstrip("\n")  # which it would do without a trace
        return "\n" * (len(source) - len(rest)) + str(ipython.transform_cell(rest))
    return _translated("%" + source.lstrip() if _BARE.match(source) else source)


def _outdented(source: str) -> str:
    first = re.match(r"(?:[ \t]*\n)*([ \t]+)\S", source)
    return source if first is None else re.sub(f"(?m)^{first[1]}", "", source)


def _is_special(source: str) -> bool:
    whole = _CELL.match(source) or _BARE.match(source)
    return whole is not None or next(_escapes(source), None) is not None


def _escapes(source: str) -> Iterator[tuple[int, int]]:
    """Yields the begin and the end of each escape, outside of strings and brackets."""
    at = 0
    while at < len(source):
        found = _LINE.match(source, at) or _HELP.match(source, at)
        if found is None:
            found, at = _assigned(source, at)
        rest = found and _REST.match(source, found.end())
        if rest is not None:
            at = rest.end()
            yield rest.start(), at


def _assigned(source: str, at: int) -> tuple[Match | None, int]:
    """Returns what precedes an escape in the statement at `at`, if there is one, and its end."""
    depth = 0
    while at < len(source):
        piece = _PIECE.match(source, at)
        assert piece is not None
        if piece.lastgroup == "code" and not depth:
            found = _ASSIGNED.search(source, at, piece.end() + 1)
            if found is not None:
                return found, found.end()
        at = piece.end()
        depth = max(0, depth + {"opening": 1, "closing": -1}.get(piece.lastgroup or "", 0))
        if piece.lastgroup == "end" and not depth:
            break
    return None, at


def _translated(source: str) -> str:
    cell = _CELL.match(source)
    if cell is not None:
        before = source[: cell.start("name")].count("\n")
        return "\n" * before + _call("run_cell_magic", *cell.group("name", "line", "body"))
    pieces: list[str] = []
    done = 0
    for start, end in _escapes(source):
        pieces.append(source[done:start])
        assigned = source[:start].rstrip(" \t").endswith("=")
        pieces.append(_called(source[start:end], assigned))
        pieces.append("\n" * source.count("\n", start, end))  # lines keep their numbers
        done = end
    return "".join((*pieces, source[done:]))


def _called(escape: str, assigned: bool) -> str:
    sign, rest = escape[0], escape[1:].strip()
    if sign == "!":
        output = assigned or rest.startswith("!")
        return _call("getoutput" if output else "system", rest.lstrip("!"))
    rest = rest.replace("\\\n", " ")
    if sign == "%" and not rest.endswith("?"):
        name, _, line = rest.partition(" ")
        return _call("run_line_magic", name, line.strip())
    return _call("run_line_magic", "pinfo", escape.strip(" \t%?"))


def _call(method: str, *arguments: str) -> str:
    return f"get_ipython().{method}({', '.join(map(repr, arguments))})"
