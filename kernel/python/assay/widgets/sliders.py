"""The widgets for numbers."""

from __future__ import annotations

from assay.reactive.external_writes import InvalidValue
from assay.widgets.widget import Widget, form, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.widgets.widget import State

    Number = int | float


class Slider(Widget):
    """A number between two others, of which each may be missing."""

    kind = "slider"

    def __init__(
        self,
        label: str = "",
        *,
        min: Number | None = None,
        max: Number | None = None,
        step: Number | None = None,
        scale_type: str | None = None,
        tooltip_formatter: str | None = None,
        marks: dict[Number, str] | None = None,
        **common: Any,
    ) -> None:
        """step and what follows it are for whoever shows it, and bind no value."""
        self._min, self._max = _number("min", min), _number("max", max)
        if self._min is not None and self._max is not None and self._min > self._max:
            raise ValueError(f"min {self._min} is above max {self._max}")
        told: State = {"min": self._min, "max": self._max, "step": form(step)}
        told.update(scale_type=scale_type, tooltip_formatter=tooltip_formatter, marks=form(marks))
        super().__init__(label, told, **common)

    def natural(self) -> Any:
        """Returns min, or 0 as far as max allows it."""
        if self._min is not None:
            return self._min
        return 0 if self._max is None else min(0, self._max)

    def parse(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidValue(f"{short(value)} is not a number")
        if self._min is not None and value < self._min:
            raise InvalidValue(f"{value} is below min, {self._min}")
        if self._max is not None and value > self._max:
            raise InvalidValue(f"{value} is above max, {self._max}")
        return value


class RangeSlider(Slider):
    """Two such numbers, as a tuple, the smaller one first."""

    kind = "range_slider"

    def natural(self) -> Any:
        low = super().natural()
        return (low, max(low, 0) if self._max is None else self._max)

    def parse(self, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 2:
            raise InvalidValue(f"{short(value)} is not a list of two numbers")
        low, high = (super(RangeSlider, self).parse(item) for item in value)
        if low > high:
            raise InvalidValue(f"{low} is above {high}")
        return (low, high)


def _number(name: str, value: Any) -> Any:
    number = form(value)
    if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float))):
        raise TypeError(f"{name}: expected a number, found {short(value)}")
    return number
