"""Keeps what restores the state from before the user's code, until the dispatcher takes it at the start."""

from __future__ import annotations

from assay.sealing.own import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = dict[str, Any]
    Renew = Callable[[], Callable[[Names], Names]]  # see assay.sealing.renewal.keep


class Pristine:
    """The original builtins, loaded modules and code of the kernel."""

    def seal(self, kernel: object) -> None:
        """Records them, and which of the kernel's objects refer to which."""
        self._renew: Renew = hidden("assay.sealing.renewal")["keep"](kernel)

    def take(self) -> Renew:
        """Returns the function that restores them, and forgets it. Call it before the first request.

        The caller must keep it in the frame of a function, where no name of the
        user's leads.
        """
        renew = self._renew
        del self._renew
        return renew
