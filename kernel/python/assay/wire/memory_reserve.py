"""Memory that is held back, and released when the user's code has used up all other memory."""

from __future__ import annotations

_RESERVE_SIZE = 4 << 20  # bytes; they are never written, so the system gives no page for them
_WORKING_SIZE = 64 << 10  # bytes that reporting something may need


class MemoryReserve:
    """Holds 4 MiB of memory back, so that the kernel can report a cell that has used up all other memory."""

    def __init__(self) -> None:
        self._held = bytes(_RESERVE_SIZE)

    def release(self) -> None:
        """Gives the reserved memory back to the allocator."""
        self._held = b""

    def release_if_low(self) -> None:
        """Gives the reserved memory back to the allocator if 64 KiB can no longer be allocated."""
        try:
            bytes(_WORKING_SIZE)
        except MemoryError:
            self.release()

    def refill(self) -> None:
        """Reserves 4 MiB again if they were released and 8 MiB can be allocated."""
        if not self._held:
            try:
                bytes(2 * _RESERVE_SIZE)
                self._held = bytes(_RESERVE_SIZE)
            except MemoryError:
                pass


memory_reserve = MemoryReserve()
