"""The text of a value as notebooks show it: long containers over several lines.

It is what IPython makes of the value, so that a notebook has the same text with
IPython and without.
"""

from __future__ import annotations

from itertools import islice

from assay.display.line_breaker import Full, Layout
from assay.run.type_checks import class_name, mro
from assay.run.user_code import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Show = Callable[[Any, "Printer"], None]

_MOST_SORTED = 1000  # items of a set
_PLAIN_MODULES = ("builtins", None)  # a name of theirs needs no module before it
_ITEMS = 1000  # of one container; of a longer one the rest is dots


def pretty(value: object, most: int, text_of: Callable[[object], str]) -> str:
    """Returns the text of value, in little more than most characters.

    text_of gives the repr of what has one of its own, and does not raise. Only
    a RecursionError comes out of a value that is nested too deep.
    """
    printer = Printer(most, text_of)
    try:
        printer.pretty(value)
    except Full:
        return printer.value() + "..."
    return printer.value()


class Printer(Layout):
    """Adds values to a layout."""

    def __init__(self, most: int, text_of: Callable[[object], str]) -> None:
        super().__init__(most)
        self._text_of = text_of
        self._inside: list[int] = []  # the ids of what is being added
        self._shows = shows()

    def pretty(self, value: object) -> None:
        """Adds value in a group of its own."""
        self._inside.append(id(value))
        self.begin_group()
        self._add(value)
        self.end_group()
        self._inside.pop()

    def _add(self, value: object) -> None:
        for base in mro(type(value)):
            show = self._shows.get(class_name(base))
            if show is not None:
                return show(value, self)
            if callable(vars(base).get("_repr_pretty_")):
                call: Any = getattr(type(value), "_repr_pretty_")
                enter(call, value, self, self._again(value))
                return None
            if base is not object and "__repr__" in vars(base):
                return self.own(value)
        return self._anonymous(value)

    def _again(self, value: object) -> bool:
        """Tells whether value, which is being added, contains itself."""
        return self._inside.count(id(value)) > 1

    def own(self, value: object) -> None:
        """Adds the repr of value."""
        for number, line in enumerate(self._text_of(value).splitlines()):
            if number:
                self.break_()
            self.text(line)

    def _anonymous(self, value: object) -> None:
        self.begin_group(1, "<")
        self.pretty(type(value))
        self.text(f" at {id(value):#x}")
        self.end_group(1, ">")

    def items(
        self, value: object, opening: str, items: Iterable[Any], closing: str, pairs: bool = False
    ) -> None:
        """Adds a container's items, or where it contains itself, dots."""
        if self._again(value):
            self.text(f"{opening}...{closing}")
            return
        self.begin_group(len(opening), opening)
        for number, item in enumerate(islice(items, _ITEMS + 1)):
            if number:
                self.text(",")
                self.breakable()
            if number == _ITEMS:
                self.text("...")
                break
            self._item(item, pairs)
        if type(value) is tuple and len(value) == 1:
            self.text(",")
        self.end_group(len(opening), closing)

    def _item(self, item: Any, pair: bool) -> None:
        if pair:
            key, item = item
            self.pretty(key)
            self.text(": ")
        self.pretty(item)

    def call(self, value: object, name: str, *args: object, **named: object) -> None:
        """Adds value as the call that makes it."""
        self.begin_group()
        self.begin_group(len(name) + 1, name + "(")
        if self._again(value):
            self.text("...")
        else:
            self._arguments(args, named)
        self.end_group(len(name) + 1, ")")
        self.end_group()

    def _arguments(self, args: tuple[object, ...], named: dict[str, object]) -> None:
        pairs = [("", arg) for arg in args] + [(f"{name}=", arg) for name, arg in named.items()]
        for number, (prefix, arg) in enumerate(pairs):
            if number:
                self.text(",")
                self.breakable()
            self.begin_group(len(prefix), prefix)
            self.pretty(arg)
            self.end_group(len(prefix))


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
