"""The text of a value as notebooks show it, with long containers over several lines.

It is the text that IPython makes of the value, so that a notebook looks the same
with IPython and without it.
"""

from __future__ import annotations

from itertools import islice

from assay.display.line_breaker import LineBreaker, TextLimitReached
from assay.run.safe_repr import safe_repr
from assay.run.type_checks import class_mro, module_and_name
from assay.run.user_code import call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    ClassPrinter = Callable[[Any, "PrettyPrinter"], None]

_MAX_SORTED = 1000  # items of a set that is shown sorted
_MAX_ITEMS = 1000  # of one container; dots stand for the others
_UNNAMED_MODULES = ("builtins", None)  # which are not put before the names of their classes


def pretty(value: object, max_length: int) -> str:
    """Returns the text of value as notebooks show it, over several lines if necessary.

    The text is cut after about max_length characters. Raises RecursionError for a value that is
    nested too deep, and any exception that the value's own `_repr_pretty_` raises.
    """
    printer = PrettyPrinter(max_length)
    try:
        printer.pretty(value)
    except TextLimitReached:
        return printer.finish() + "..."
    return printer.finish()


class PrettyPrinter(LineBreaker):
    """Writes the text of values as notebooks show it, broken into lines. The values may be nested."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length)
        self._being_printed: list[int] = []  # ids of the values, outermost first
        self._class_printers = _class_printers()

    def pretty(self, value: object) -> None:
        """Adds the text of value to the output, in its own group."""
        self._being_printed.append(id(value))
        self.begin_group()
        self._add_value(value)
        self.end_group()
        self._being_printed.pop()

    def _add_value(self, value: object) -> None:
        """Adds the text of value, by a function for its class, its `_repr_pretty_` method or its repr."""
        for base in class_mro(type(value)):
            print_value = self._class_printers.get(module_and_name(base))
            if print_value is not None:
                return print_value(value, self)
            if callable(vars(base).get("_repr_pretty_")):
                method: Any = getattr(type(value), "_repr_pretty_")
                call_user_code(method, value, self, self._contains_itself(value))
                return None
            if base is not object and "__repr__" in vars(base):
                return self.add_repr(value)
        return self._add_default_repr(value)

    def _contains_itself(self, value: object) -> bool:
        """Returns whether value is being printed already, as a container that holds itself."""
        return self._being_printed.count(id(value)) > 1

    def add_repr(self, value: object) -> None:
        """Adds the repr of value to the output, with its line breaks."""
        for number, line in enumerate(safe_repr(value).splitlines()):
            if number:
                self.break_()
            self.text(line)

    def _add_default_repr(self, value: object) -> None:
        """Adds "<class at address>", for a value whose class defines no repr."""
        self.begin_group(1, "<")
        self.pretty(type(value))
        self.text(f" at {id(value):#x}")
        self.end_group(1, ">")

    def add_items(
        self,
        value: object,
        opening: str,
        items: Iterable[Any],
        closing: str,
        are_pairs: bool = False,
    ) -> None:
        """Adds the items of a container between its brackets, at most 1,000; "..." if it contains itself.

        With are_pairs, each item is a tuple of a key and its value.
        """
        if self._contains_itself(value):
            self.text(f"{opening}...{closing}")
            return
        self.begin_group(len(opening), opening)
        for number, item in enumerate(islice(items, _MAX_ITEMS + 1)):
            if number:
                self.text(",")
                self.breakable()
            if number == _MAX_ITEMS:
                self.text("...")
                break
            self._add_item(item, are_pairs)
        if type(value) is tuple and len(value) == 1:
            self.text(",")
        self.end_group(len(opening), closing)

    def _add_item(self, item: Any, is_pair: bool) -> None:
        if is_pair:
            key, item = item
            self.pretty(key)
            self.text(": ")
        self.pretty(item)

    def add_call(self, value: object, name: str, *args: object, **named: object) -> None:
        """Adds value in the form of a call, name(args, named), for example deque([1], maxlen=2)."""
        self.begin_group()
        self.begin_group(len(name) + 1, name + "(")
        if self._contains_itself(value):
            self.text("...")
        else:
            self._add_arguments(args, named)
        self.end_group(len(name) + 1, ")")
        self.end_group()

    def _add_arguments(self, args: tuple[object, ...], named: dict[str, object]) -> None:
        pairs = [("", arg) for arg in args] + [(f"{name}=", arg) for name, arg in named.items()]
        for number, (prefix, arg) in enumerate(pairs):
            if number:
                self.text(",")
                self.breakable()
            self.begin_group(len(prefix), prefix)
            self.pretty(arg)
            self.end_group(len(prefix))


def _class_printers() -> dict[tuple[str, str], ClassPrinter]:
    """Returns the functions that print values of certain classes, by the class's module and name.

    They are for classes whose repr is not what notebooks show. Methods of built-in containers are
    called on the built-in class, because those of a subclass may be the user's code and never end.
    """
    table: dict[tuple[str, str], ClassPrinter] = {
        ("builtins", "list"): lambda v, p: p.add_items(v, "[", list.__iter__(v), "]"),
        ("builtins", "tuple"): lambda v, p: p.add_items(v, "(", tuple.__iter__(v), ")"),
        ("builtins", "dict"): lambda v, p: p.add_items(v, "{", dict.items(v), "}", True),
        ("builtins", "set"): lambda v, p: _print_set(v, p, "{", "}"),
        ("builtins", "frozenset"): lambda v, p: _print_set(v, p, "frozenset({", "})"),
        ("builtins", "mappingproxy"): _print_mappingproxy,
        ("builtins", "type"): _print_class,
        ("builtins", "function"): _print_function,
        ("builtins", "builtin_function_or_method"): _print_function,
        ("builtins", "BaseException"): _print_exception,
        ("builtins", "super"): _print_super,
        ("os", "_Environ"): lambda v, p: p.add_items(v, "environ{", v.items(), "}", True),
        ("re", "Pattern"): _print_pattern,
        ("types", "SimpleNamespace"): lambda v, p: p.add_call(v, "namespace", **vars(v)),
        ("collections", "defaultdict"): _print_defaultdict,
        ("collections", "OrderedDict"): _print_ordered_dict,
        ("collections", "Counter"): _print_counter,
        ("collections", "UserList"): lambda v, p: p.add_call(v, type(v).__name__, v.data),
        ("collections", "deque"): _print_deque,
    }
    return table


def _argument_tuple_unless_empty(value: Any) -> tuple[Any, ...]:
    return (value,) if value else ()


def _print_set(value: Any, printer: PrettyPrinter, opening: str, closing: str) -> None:
    base: Any = set if isinstance(value, set) else frozenset
    if not base.__len__(value):
        printer.text(f"{type(value).__name__}()")
        return
    items = base.__iter__(value)
    if base.__len__(value) < _MAX_SORTED:
        items = iter(_sorted_if_possible(list(items)))
    printer.add_items(value, opening, items, closing)


def _sorted_if_possible(items: list[Any]) -> list[Any]:
    for key in (None, str):
        try:
            return list(call_user_code(sorted, items, key=key))
        except Exception:  # for example because they are of different classes
            pass
    return items


def _print_mappingproxy(value: Any, printer: PrettyPrinter) -> None:
    printer.add_items(value, "mappingproxy({", value.items(), "})", True)


def _print_class(value: Any, printer: PrettyPrinter) -> None:
    if "__repr__" in (name for base in class_mro(type(value))[:-2] for name in vars(base)):
        printer.add_repr(value)  # its metaclass has a repr
        return
    module, name = value.__module__, value.__qualname__
    printer.text(name if module in _UNNAMED_MODULES else f"{module}.{name}")


def _print_function(value: Any, printer: PrettyPrinter) -> None:
    from inspect import signature

    name = value.__qualname__
    if value.__module__ not in _UNNAMED_MODULES:
        name = f"{value.__module__}.{name}"
    try:
        name += str(call_user_code(signature, value))
    except ValueError:  # it has none
        pass
    printer.text(f"<function {name}>")


def _print_exception(value: Any, printer: PrettyPrinter) -> None:
    cls = type(value)
    name = cls.__qualname__
    if cls.__module__ not in _UNNAMED_MODULES:
        name = f"{cls.__module__}.{name}"
    printer.add_call(value, name, *value.args)


def _print_super(value: Any, printer: PrettyPrinter) -> None:
    printer.begin_group(8, "<super: ")
    printer.pretty(value.__thisclass__)
    printer.text(",")
    printer.breakable()
    printer.pretty(value.__self__)
    printer.end_group(8, ">")


def _print_pattern(value: Any, printer: PrettyPrinter) -> None:
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


def _print_defaultdict(value: Any, printer: PrettyPrinter) -> None:
    printer.add_call(value, type(value).__name__, value.default_factory, dict(value))


def _print_ordered_dict(value: Any, printer: PrettyPrinter) -> None:
    items = call_user_code(list, islice(value.items(), _MAX_ITEMS + 1))
    printer.add_call(value, type(value).__name__, *_argument_tuple_unless_empty(items))


def _print_counter(value: Any, printer: PrettyPrinter) -> None:
    printer.add_call(value, type(value).__name__, *_argument_tuple_unless_empty(dict(value)))


def _print_deque(value: Any, printer: PrettyPrinter) -> None:
    items = call_user_code(list, islice(value, _MAX_ITEMS + 1))
    named = {} if value.maxlen is None else {"maxlen": value.maxlen}
    printer.add_call(value, type(value).__name__, items, **named)
