"""Keeps what restores the state from before the user's code, until the dispatcher takes it at the start."""

from __future__ import annotations

from assay.sealing.own import run_hidden_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Names = dict[str, Any]
    Renew = Callable[[], Callable[[Names], Names]]  # see assay.sealing.renewal.record_original_state


class Pristine:
    """Keeps the function that restores builtins, modules and the kernel's code, until the dispatcher takes it."""

    def record(self, kernel: object) -> None:
        """Records the state of builtins, loaded modules and the kernel's code, which take_restore_function restores.

        Must be called before the user's code runs.
        """
        self._renew: Renew = run_hidden_module("assay.sealing.renewal")["record_original_state"](kernel)

    def take_restore_function(self) -> Renew:
        """Returns the function that restores the recorded state, and forgets it. Can be called once.

        The caller must keep the function only in the frame of a running function, where the user's
        code does not find it.
        """
        renew = self._renew
        del self._renew
        return renew
