"""The widgets of which one chooses among options."""

from __future__ import annotations

from assay.reactive.external_writes import InvalidValue
from assay.widgets.widget import Widget, form, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from assay.widgets.widget import State


class Select(Widget):
    """One of its options, or None."""

    kind = "select"

    def __init__(
        self,
        label: str = "",
        options: Iterable[Any] = (),
        *,
        required: bool = False,
        more: State | None = None,
        **common: Any,
    ) -> None:
        self._options = list(options)
        self._forms = [form(option) for option in self._options]
        self._required = bool(required)
        told = {"options": self._forms, "required": self._required, **(more or {})}
        super().__init__(label, told, **common)

    def parse(self, value: Any) -> Any:
        if value is None and not self._required:
            return None
        return self.option(value)

    def option(self, value: Any) -> Any:
        """Returns the option that value, of JSON, stands for. Raises InvalidValue."""
        for option, known in zip(self._options, self._forms):
            if known == value and isinstance(known, bool) == isinstance(value, bool):
                return option
        raise InvalidValue(f"{short(value)} is not an option; they are {short(self._forms)}")


class Radio(Select):
    """The same, shown as buttons, in a direction ("horizontal", "vertical")."""

    kind = "radio"

    def __init__(
        self,
        label: str = "",
        options: Iterable[Any] = (),
        *,
        direction: str = "horizontal",
        **common: Any,
    ) -> None:
        super().__init__(label, options, more={"direction": form(direction)}, **common)


class MultiSelect(Select):
    """A list of some of its options."""

    kind = "multi_select"

    def __init__(
        self,
        label: str = "",
        options: Iterable[Any] = (),
        *,
        default: Iterable[Any] | None = None,
        **common: Any,
    ) -> None:
        default = None if default is None else list(default)
        super().__init__(label, options, default=default, **common)

    def natural(self) -> Any:
        return []

    def parse(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise InvalidValue(f"{short(value)} is not a list of options")
        if self._required and not value:
            raise InvalidValue("at least one option is required")
        return [self.option(item) for item in value]
