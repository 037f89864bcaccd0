"""The widgets that a cell can make.

label is shown beside them. key names one within its cell; without it they are
counted, "select_1". value is what it has at first, else default. readonly ones
cannot be set from outside. appearance goes to whoever shows it, as it is.

`.value` reads the value and subscribes the running cell, `.sample()` only reads
it. A value set from outside stays when the cell that made the widget runs
again, as long as the widget can have it.
"""

from __future__ import annotations

from assay.choices import MultiSelect as w_multi_select
from assay.choices import Radio as w_radio
from assay.choices import Select as w_select
from assay.inputs import Button as w_button
from assay.inputs import Checkbox as w_checkbox
from assay.inputs import TextInput as w_text_input
from assay.outputs import Column as w_column
from assay.outputs import Grid as w_grid
from assay.outputs import Plot as w_plot
from assay.outputs import Row as w_row
from assay.outputs import Table as w_table
from assay.outputs import TextOutput as w_text_output
from assay.signals import home
from assay.sliders import RangeSlider as w_range_slider
from assay.sliders import Slider as w_slider

__all__ = [
    "submit_widget_state",
    "w_button",
    "w_checkbox",
    "w_column",
    "w_grid",
    "w_multi_select",
    "w_plot",
    "w_radio",
    "w_range_slider",
    "w_row",
    "w_select",
    "w_slider",
    "w_table",
    "w_text_input",
    "w_text_output",
]


def submit_widget_state() -> None:
    """Shows the widgets that the running cell has made so far, before it ends."""
    cell = home.reactions.running_cell()
    if cell is not None:
        home.reactions.board.send((), cell)
