"""What stands in for CuPy's devices, streams and events."""

from __future__ import annotations

from collections.abc import Callable
from threading import local

from machine import standin
from machine.grid import Grid


class Current(local):
    """The devices of a thread that stand around each other, the current one last."""

    def __init__(self) -> None:
        self.devices = [0]


current = Current()


def here() -> list[int]:
    """Those of this thread."""
    return current.devices


class Device:
    """The device of a number; in `with` it is the current one."""

    def __init__(self, number: int = 0) -> None:
        if number >= standin.machine.settings.devices:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.number = number

    def use(self) -> None:
        here()[-1] = self.number

    def __enter__(self) -> Device:
        here().append(self.number)
        return self

    def __exit__(self, *_: object) -> None:
        here().pop()

    def synchronize(self) -> None:
        standin.machine.synchronize()


def enable(other: int) -> None:
    """Let the current device reach the memory of another."""
    pair = (here()[-1], other)
    if standin.machine.settings.apart:
        raise RuntimeError("cudaErrorPeerAccessUnsupported: peer access is not supported between these two devices")
    if pair in standin.machine.reaching:
        raise RuntimeError("cudaErrorPeerAccessAlreadyEnabled: peer access is already enabled")
    standin.machine.reaching.add(pair)


class Stream:
    """A stream of the current device; in `with` it is the current one there."""

    current: dict[int, list[Stream]] = {}  # noqa: RUF012
    made = 0

    def __init__(self, *, non_blocking: bool = False) -> None:
        self.non_blocking, self.ptr, self.device = non_blocking, Stream.made, here()[-1]
        Stream.made += 1

    def __enter__(self) -> Stream:
        Stream.current.setdefault(self.device, [Stream()]).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.current[self.device].pop()

    def wait_event(self, event: Event) -> None:
        """What comes next here waits for a moment, of whichever device."""
        standin.machine.stream(self.ptr).put(lambda _before, _released, over: event.wait(over))

    def synchronize(self) -> None:
        standin.machine.synchronize()


def current_stream() -> Stream:
    """That of the current device."""
    return Stream.current.setdefault(here()[-1], [Stream()])[-1]


class Event:
    """A moment in a stream of the current device, told in steps of the machine."""

    def __init__(self, *, disable_timing: bool = False) -> None:
        self.steps, self.timed, self.device = 0, not disable_timing, here()[-1]
        self.waiting: list[Callable[[], None]] = []
        self.open = True

    def record(self, stream: Stream | None = None) -> None:
        stream, self.open = stream or current_stream(), False
        assert stream.device == self.device

        def noted(_before: Grid | None, _released: Callable[[], None], over: Callable[[], None]) -> None:
            self.steps, self.open = standin.machine.scheduler.steps, True
            over()
            while self.waiting:
                self.waiting.pop()()

        standin.machine.stream(stream.ptr).put(noted)

    def wait(self, then: Callable[[], None]) -> None:
        """Go on when this moment has come, if it is to come."""
        if self.open:
            then()
        else:
            self.waiting.append(then)

    def synchronize(self) -> None:
        standin.machine.synchronize()

    @property
    def done(self) -> bool:
        """Whether everything before it is over: whoever asks lets the machine run."""
        return standin.machine.done()
