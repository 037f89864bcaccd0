"""Memory that is held back, and released when the user's code has used up all other memory."""

from __future__ import annotations

_RESERVE_SIZE = 4 << 20  # bytes; they are never written, so the system gives no page for them
_WORKING_SIZE = 64 << 10  # bytes that reporting something may need


class MemoryReserve:
    """4 MiB that let the kernel report a cell which took all memory, and run the next cell."""

    def __init__(self) -> None:
        self._held = bytes(_RESERVE_SIZE)

    def release(self) -> None:
        """Gives the memory back to the allocator."""
        self._held = b""

    def release_if_low(self) -> None:
        """Gives the memory back if 64 KiB can no longer be allocated."""
        try:
            bytes(_WORKING_SIZE)
        except MemoryError:
            self.release()

    def refill(self) -> None:
        """Holds memory back again if it was released and 8 MiB can be allocated."""
        if not self._held:
            try:
                bytes(2 * _RESERVE_SIZE)
                self._held = bytes(_RESERVE_SIZE)
            except MemoryError:
                pass


memory_reserve = MemoryReserve()
