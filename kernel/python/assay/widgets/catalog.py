"""All widgets under the names that the user's code imports; see assay.widgets."""

from __future__ import annotations

from assay.reactive import signals
from assay.widgets import widget_registry
from assay.widgets.choices import MultiSelect as w_multi_select
from assay.widgets.choices import Radio as w_radio
from assay.widgets.choices import Select as w_select
from assay.widgets.inputs import Button as w_button
from assay.widgets.inputs import Checkbox as w_checkbox
from assay.widgets.inputs import TextInput as w_text_input
from assay.widgets.outputs import Column as w_column
from assay.widgets.outputs import Grid as w_grid
from assay.widgets.outputs import Plot as w_plot
from assay.widgets.outputs import Row as w_row
from assay.widgets.outputs import Table as w_table
from assay.widgets.outputs import TextOutput as w_text_output
from assay.widgets.sliders import RangeSlider as w_range_slider
from assay.widgets.sliders import Slider as w_slider


def submit_widget_state() -> None:
    """Sends the widgets that the running cell has made so far to the server, before the cell ends.

    Does nothing if no cell is running.
    """
    cell = signals.tracker.running_cell()
    if cell is not None:
        widget_registry.registry.publish((), cell)
