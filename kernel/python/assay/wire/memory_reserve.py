"""Memory that is held back, to be given up when there is no other."""

from __future__ import annotations

_SIZE = 4 << 20  # bytes; they are never written, so the system gives no page for them
_LITTLE = 64 << 10  # bytes that telling something may take


class Reserve:
    """What lets the kernel tell of a cell that took all memory, and run the next one."""

    def __init__(self) -> None:
        self._held = bytes(_SIZE)

    def release(self) -> None:
        """Gives the memory up."""
        self._held = b""

    def ensure(self) -> None:
        """Gives the memory up if not even little is left."""
        try:
            bytes(_LITTLE)
        except MemoryError:
            self.release()

    def renew(self) -> None:
        """Holds memory back again, if it was given up and there is twice as much."""
        if not self._held:
            try:
                bytes(2 * _SIZE)
                self._held = bytes(_SIZE)
            except MemoryError:
                pass


reserve = Reserve()
