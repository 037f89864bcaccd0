"""What was there before any of the user's code ran: kept here until it is taken away, at the start."""

from __future__ import annotations

from assay.sealing.own import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = dict[str, Any]
    Renew = Callable[[], Callable[[Names], Names]]


class Pristine:
    """The builtins, the modules that were loaded and the kernel's code."""

    def seal(self, kernel: object) -> None:
        """Keeps them, and what the kernel's objects are to each other."""
        self._renew: Renew = hidden("assay.sealing.renewal")["keep"](kernel)

    def take(self) -> Renew:
        """Returns what puts them back, see assay.sealing.renewal. It is here no longer then.

        Whoever takes it keeps it in the frame of a function, where no name of the
        user's leads. Safe before the first request only.
        """
        renew = self._renew
        del self._renew
        return renew
