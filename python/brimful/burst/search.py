"""The search for the longest burst without loss: by halves, with loss verified (ETSI GS NFV-TST 009 clause 12.3)."""

from __future__ import annotations


class BurstSearch:
    """One test. It chooses lengths, and gets what became of them; it knows no measurer and no clock.

    Parameters
    ----------
    longest
        Frames of the longest burst that may be tried.
    step
        Lengths are multiples of this number of frames.
    attempts
        How often a length is tried, at most, before it counts as lossy.

    Examples
    --------
    >>> search = BurstSearch(longest=100, step=1, attempts=1)
    >>> while (frames := search.next()) is not None:
    ...     search.record(frames, lossless=frames <= 42)
    >>> search.held, search.lossy
    (42, 43)
    """

    def __init__(self, *, longest: int, step: int, attempts: int) -> None:
        self._step, self._attempts = step, attempts
        self._held = 0
        self._lossy = longest // step + 1
        self._most = longest // step
        self._failures = 0

    def next(self) -> int | None:
        """Give the length to try, or nothing when the test is over."""
        if self._lossy - self._held <= 1:
            return None
        return self._middle() * self._step

    def record(self, frames: int, *, lossless: bool) -> None:
        """Take what became of the length that was asked for.

        Raises
        ------
        ValueError
            When another length was asked for.
        """
        if frames != self.next():
            message = f"a burst of {frames} frames was not due"
            raise ValueError(message)
        if lossless:
            self._held, self._failures = self._middle(), 0
            return
        self._failures += 1
        if self._failures == self._attempts:
            self._lossy, self._failures = self._middle(), 0

    @property
    def held(self) -> int:
        """The longest burst without loss; 0 where there is none."""
        return self._held * self._step

    @property
    def lossy(self) -> int | None:
        """The shortest burst with loss; nothing where there is none."""
        return self._lossy * self._step if self._lossy <= self._most else None

    def _middle(self) -> int:
        return (self._held + self._lossy) // 2
