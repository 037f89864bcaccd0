"""How the values of some classes are shown: those whose repr is not what notebooks show."""

from __future__ import annotations

from itertools import islice

from assay.doors import enter
from assay.kinds import mro

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.pretty import Printer

    Show = Callable[[Any, Printer], None]

_MOST_SORTED = 1000  # items of a set
_PLAIN_MODULES = ("builtins", None)  # a name of theirs needs no module before it


def shows() -> dict[tuple[str, str], Show]:
    """Returns what adds a value to a printer, by module and name of the value's class.

    The methods of the language's own containers are called on their classes:
    those of a subclass may be the user's, and never end.
    """
    table: dict[tuple[str, str], Show] = {
        ("builtins", "list"): lambda v, p: p.items(v, "[", list.__iter__(v), "]"),
        ("builtins", "tuple"): lambda v, p: p.items(v, "(", tuple.__iter__(v), ")"),
        ("builtins", "dict"): lambda v, p: p.items(v, "{", dict.items(v), "}", True),
        ("builtins", "set"): lambda v, p: _set(v, p, "{", "}"),
        ("builtins", "frozenset"): lambda v, p: _set(v, p, "frozenset({", "})"),
        ("builtins", "mappingproxy"): lambda v, p: p.items(v, "mappingproxy({", v.items(), "})", True),
        ("builtins", "type"): _class,
        ("builtins", "function"): _function,
        ("builtins", "builtin_function_or_method"): _function,
        ("builtins", "BaseException"): _exception,
        ("builtins", "super"): _super,
        ("os", "_Environ"): lambda v, p: p.items(v, "environ{", v.items(), "}", True),
        ("re", "Pattern"): _pattern,
        ("types", "SimpleNamespace"): lambda v, p: p.call(v, "namespace", **vars(v)),
        ("collections", "defaultdict"): _defaultdict,
        ("collections", "OrderedDict"): _ordered,
        ("collections", "Counter"): lambda v, p: p.call(v, type(v).__name__, *_some(dict(v))),
        ("collections", "UserList"): lambda v, p: p.call(v, type(v).__name__, v.data),
        ("collections", "deque"): _deque,
    }
    return table


def _some(value: Any) -> tuple[Any, ...]:
    return (value,) if value else ()


def _set(value: Any, printer: Printer, opening: str, closing: str) -> None:
    base: Any = set if isinstance(value, set) else frozenset
    if not base.__len__(value):
        printer.text(f"{type(value).__name__}()")
        return
    items = base.__iter__(value)
    if base.__len__(value) < _MOST_SORTED:
        items = iter(_sorted(list(items)))
    printer.items(value, opening, items, closing)


def _sorted(items: list[Any]) -> list[Any]:
    for key in (None, str):
        try:
            return list(enter(sorted, items, key=key))
        except Exception:  # of different classes, for example
            pass
    return items


def _class(value: Any, printer: Printer) -> None:
    if "__repr__" in (name for base in mro(type(value))[:-2] for name in vars(base)):
        printer.own(value)  # a metaclass has its say
        return
    module, name = value.__module__, value.__qualname__
    printer.text(name if module in _PLAIN_MODULES else f"{module}.{name}")


def _function(value: Any, printer: Printer) -> None:
    from inspect import signature

    name = value.__qualname__
    if value.__module__ not in _PLAIN_MODULES:
        name = f"{value.__module__}.{name}"
    try:
        name += str(enter(signature, value))
    except ValueError:  # it does not say
        pass
    printer.text(f"<function {name}>")


def _exception(value: Any, printer: Printer) -> None:
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ not in _PLAIN_MODULES:
        name = f"{kind.__module__}.{name}"
    printer.call(value, name, *value.args)


def _super(value: Any, printer: Printer) -> None:
    printer.begin_group(8, "<super: ")
    printer.pretty(value.__thisclass__)
    printer.text(",")
    printer.breakable()
    printer.pretty(value.__self__)
    printer.end_group(8, ">")


def _pattern(value: Any, printer: Printer) -> None:
    import re

    names = ("TEMPLATE", "IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
    flags = [f"re.{name}" for name in names if value.flags & getattr(re, name, 0)]
    printer.begin_group(11, "re.compile(")
    printer.text("r" + repr(value.pattern).replace("\\\\", "\\"))
    if flags:
        printer.text(",")
        printer.breakable()
        printer.text("|".join(flags))
    printer.end_group(11, ")")


def _defaultdict(value: Any, printer: Printer) -> None:
    printer.call(value, type(value).__name__, value.default_factory, dict(value))


def _ordered(value: Any, printer: Printer) -> None:
    items = enter(list, islice(value.items(), _MOST_SORTED + 1))
    printer.call(value, type(value).__name__, *_some(items))


def _deque(value: Any, printer: Printer) -> None:
    items = enter(list, islice(value, _MOST_SORTED + 1))
    named = {} if value.maxlen is None else {"maxlen": value.maxlen}
    printer.call(value, type(value).__name__, items, **named)
