"""Being told to end: what is temporary is removed first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["unwinding"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def unwinding() -> Iterator[None]:
    """Have Ctrl-C, SIGTERM and SIGHUP leave the block by an exception, and then end the program.

    By default the latter two end it at once, and what it has made for itself stays behind.
    """
    told: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell(number: int, _frame: FrameType | None) -> None:
        # From here on the program cleans up. Only who presses Ctrl-C once more can stop that.
        for each in before:
            is_ctrl_c = each is signal.SIGINT
            signal.signal(each, signal.default_int_handler if is_ctrl_c else signal.SIG_IGN)
        told.append(number)
        raise KeyboardInterrupt

    # What is ignored, as under nohup, stays so.
    before = {
        number: handler
        for number in _SIGNALS
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    try:
        for number in before:
            signal.signal(number, tell)
        yield
    except BaseException:
        # Where the signal came between two steps of the driver, that has failed with an error of
        # its own since.
        if told:
            raise SystemExit(128 + told[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
