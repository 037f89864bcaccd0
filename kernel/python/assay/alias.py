"""Finds the modules of lplots, without loading anything before they are imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class Alias:
    """A meta path finder. An lplots that is installed is hidden: it needs its product."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module of lplots, None for any other."""
        if name.partition(".")[0] != "lplots":
            return None
        from assay.lplots import find

        return find(name)
