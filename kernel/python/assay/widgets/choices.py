"""The widgets for choosing among options."""

from __future__ import annotations

from assay.reactive.external_writes import InvalidValue
from assay.widgets.widget import Widget, short_repr, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from assay.widgets.widget import State


class Select(Widget):
    """A widget to choose one of several options. Its value is that option, or None unless it is required."""

    widget_type = "select"

    def __init__(
        self,
        label: str = "",
        options: Iterable[Any] = (),
        *,
        required: bool = False,
        extra_state: State | None = None,
        **common: Any,
    ) -> None:
        self._options = list(options)
        self._json_options = [to_json(option) for option in self._options]
        self._required = bool(required)
        own_state = {"options": self._json_options, "required": self._required}
        super().__init__(label, {**own_state, **(extra_state or {})}, **common)

    def parse(self, value: Any) -> Any:
        if value is None and not self._required:
            return None
        return self._find_option(value)

    def _find_option(self, value: Any) -> Any:
        """Returns the option whose JSON is value. Raises InvalidValue if there is none."""
        for option, json_option in zip(self._options, self._json_options):
            if json_option == value and isinstance(json_option, bool) == isinstance(value, bool):
                return option
        options = short_repr(self._json_options)
        raise InvalidValue(f"{short_repr(value)} is not an option; they are {options}")


class Radio(Select):
    """A Select shown as radio buttons, side by side or, with direction "vertical", one below the other."""

    widget_type = "radio"

    def __init__(
        self,
        label: str = "",
        options: Iterable[Any] = (),
        *,
        direction: str = "horizontal",
        **common: Any,
    ) -> None:
        super().__init__(label, options, extra_state={"direction": to_json(direction)}, **common)


class MultiSelect(Select):
    """A widget to choose any number of options. Its value is a list of them; required means at least one."""

    widget_type = "multi_select"

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

    def empty_value(self) -> Any:
        return []

    def parse(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise InvalidValue(f"{short_repr(value)} is not a list of options")
        if self._required and not value:
            raise InvalidValue("at least one option is required")
        return [self._find_option(item) for item in value]
