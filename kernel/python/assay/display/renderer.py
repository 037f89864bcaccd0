"""Shows values for the runs of the user's code: what assay.run.host.RendererProtocol describes."""

from __future__ import annotations

import sys

from assay.display.display import clear_output, display, publish, show_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Renderer:
    """Shows values and figures in the output of the running cell."""

    def show(self, value: object) -> None:
        """Shows value in the output of the running cell."""
        display(value)

    def show_result(self, value: object, execution_count: int) -> None:
        """Shows the value of the running cell's last expression, with the number of the run."""
        show_result(value, execution_count)

    def publish(self, data: Any, metadata: Any = None, **options: Any) -> None:
        """Shows a MIME bundle, data by MIME type, in the output of the running cell."""
        publish(data, metadata, **options)

    def clear_output(self, wait: bool = False) -> None:
        """Clears the output of the running cell: at once or, with wait, when its next output comes."""
        clear_output(wait)

    def show_figures(self) -> None:
        """Shows the open matplotlib figures that the running cell has not shown yet, and closes all figures."""
        if "matplotlib.pyplot" in sys.modules:
            from assay.display.libraries import show_open_figures

            show_open_figures()

    def close_figures(self) -> None:
        """Closes all matplotlib figures without showing them. Does nothing if pyplot is not imported."""
        if "matplotlib.pyplot" in sys.modules:
            from assay.display.libraries import close_figures

            close_figures()
