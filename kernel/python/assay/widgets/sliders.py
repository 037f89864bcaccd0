"""The widgets for numbers."""

from __future__ import annotations

from assay.reactive.external_writes import InvalidValue
from assay.widgets.widget import Widget, short_repr, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.widgets.widget import State

    Number = int | float


class Slider(Widget):
    """A widget to set a number between min and max, either of which may be missing."""

    widget_type = "slider"

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
        """Makes a slider. Only min and max restrict its value; the other arguments say how it is drawn.

        Raises ValueError if min is above max, and TypeError if one is not a number.
        """
        self._min, self._max = _parse_bound("min", min), _parse_bound("max", max)
        if self._min is not None and self._max is not None and self._min > self._max:
            raise ValueError(f"min {self._min} is above max {self._max}")
        extra_state: State = {"min": self._min, "max": self._max, "step": to_json(step)}
        extra_state.update(
            scale_type=scale_type, tooltip_formatter=tooltip_formatter, marks=to_json(marks)
        )
        super().__init__(label, extra_state, **common)

    def empty_value(self) -> Any:
        """Returns min; without min, 0 or, if that is below 0, max."""
        if self._min is not None:
            return self._min
        return 0 if self._max is None else min(0, self._max)

    def parse(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidValue(f"{short_repr(value)} is not a number")
        if self._min is not None and value < self._min:
            raise InvalidValue(f"{value} is below min, {self._min}")
        if self._max is not None and value > self._max:
            raise InvalidValue(f"{value} is above max, {self._max}")
        return value


class RangeSlider(Slider):
    """A widget to set a range of numbers. Its value is a tuple of two numbers, the smaller one first."""

    widget_type = "range_slider"

    def empty_value(self) -> Any:
        """Returns the range from the slider's own empty value to max; without max, to 0 or that value."""
        low = super().empty_value()
        return (low, max(low, 0) if self._max is None else self._max)

    def parse(self, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 2:
            raise InvalidValue(f"{short_repr(value)} is not a list of two numbers")
        low, high = (super(RangeSlider, self).parse(item) for item in value)
        if low > high:
            raise InvalidValue(f"{low} is above {high}")
        return (low, high)


def _parse_bound(name: str, value: Any) -> Any:
    """Returns the number given for min or max, or None if it is missing. Raises TypeError if it is not a number."""
    number = to_json(value)
    if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float))):
        raise TypeError(f"{name}: expected a number, found {short_repr(value)}")
    return number
