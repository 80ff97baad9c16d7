"""Where the threads and the memory of a test go on a GPU: roles for warps and lanes, objects for slots; or why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ptxmm.errors import Unsupported
from ptxmm.gpu.constants import constants
from ptxmm.gpu.devices import ONE, Devices, devices_of, spread_of
from ptxmm.gpu.endings import plays_once
from ptxmm.gpu.parameters import parameters
from ptxmm.gpu.stages import Stage, stages
from ptxmm.gpu.views import views
from ptxmm.program import (
    Bar,
    Barrier,
    Branch,
    ClusterBarrier,
    Elect,
    Exit,
    Foreign,
    Place,
    Program,
    Proxy,
    Space,
    TensormapCopy,
    Thread,
)

WARP = 32
WARPS = 8
"""Warps of a CTA that tests without barriers share."""

MOST_THREADS, MOST_CTAS, MOST_SHARED = 1024, 8, 227 << 10
"""Threads of a CTA, CTAs of a cluster that every GPU takes, and bytes of shared memory of a CTA, by `sm_90`
(CUDA programming guide, "compute capabilities", "thread block clusters")."""

Cta = tuple[tuple[int, int, int], int]


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a thread sits: the cluster of its team and the rank of its CTA there, its warp and its lane."""

    cluster: int
    rank: int
    warp: int
    lane: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of a launch.

    A team is the warps that run copies of the test together: with `packed`, a copy in each lane, so that a thread of
    the test is a warp and 32 copies run side by side; else one copy, and the lanes that play no part exit at the start.
    `teams` teams share a CTA of `warps` warps each. `shared` has the byte offset of each shared object in a copy's
    slot of `shared_size` bytes, the same in each CTA. `stages` are the launches that play the test, one in most cases.
    `parameters` are tensor maps that are parameters of the kernel. `once` says that a launch plays one round.
    """

    seats: tuple[Seat, ...]
    packed: bool
    clusters: int
    cluster_size: int
    warps: int
    teams: int
    shared: dict[str, int]
    shared_size: int
    stages: tuple[Stage, ...]
    parameters: tuple[str, ...] = ()
    once: bool = False
    devices: Devices = ONE

    @property
    def spread(self) -> tuple[int, ...]:
        """How many of the clusters each GPU has."""
        return self.devices.spread or (self.clusters,)

    @property
    def dependent(self) -> bool:
        """Whether a launch starts when the one before it says so: each CTA then runs one copy, once."""
        return any(stage.dependent for stage in self.stages)

    @property
    def staged(self) -> bool:
        """Whether a pass has several launches: the first writes initial values, the last counts."""
        return self.once or len(self.stages) > 1

    @property
    def copies(self) -> int:
        """Copies of the test that one team runs side by side."""
        return WARP if self.packed else 1

    @property
    def ctas(self) -> int:
        """CTAs for one unit: teams that sit in the same CTAs."""
        return self.clusters * self.cluster_size

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return WARP * self.warps * self.teams

    @property
    def slot(self) -> int:
        """Bytes of shared memory that a CTA needs for one round."""
        return self.shared_size * self.copies * self.teams


def layout(program: Program) -> Layout:
    """The shape of a launch; Unsupported says what GPUs, or this harness, cannot do."""
    _ensure_one_grid(program)
    ctas = _ctas(program)
    groups: dict[tuple[int, int, int], list[Cta]] = {}
    for cta in ctas:
        groups.setdefault(cta[0], []).append(cta)
    numbers = {cluster: number for number, cluster in enumerate(groups)}
    seats = []
    for cta, threads in ctas.items():
        for thread, (warp, lane) in zip(threads, _warps(threads), strict=True):
            seats.append((program.threads.index(thread), Seat(numbers[cta[0]], groups[cta[0]].index(cta), warp, lane)))
    warps = max(seat.warp for _, seat in seats) + 1
    meets = any(isinstance(s, Barrier | ClusterBarrier) for thread in program.threads for s in thread.body)
    shared, size = _shared(program)
    launches, given = stages(program), parameters(program)
    alone = any(stage.dependent for stage in launches)
    devices = spread_of(program, (device for device, _, _ in groups))
    if alone and devices.spread:
        raise Unsupported("it needs several GPUs, and a launch depends on launches of one GPU")
    clustered = max(map(len, groups.values()))
    _ensure_fits(warps, clustered, size)
    packed = not alone and all(_packs(thread) for thread in program.threads) and size * WARP <= MOST_SHARED
    room = MOST_SHARED // max(1, size * (WARP if packed else 1))
    return Layout(
        seats=tuple(seat for _, seat in sorted(seats)),
        packed=packed,
        clusters=len(groups),
        cluster_size=clustered,
        warps=warps,
        teams=1 if meets or alone or given else max(1, min(WARPS // warps, room)),
        shared=shared,
        shared_size=size,
        stages=launches,
        parameters=given,
        once=plays_once(program),
        devices=devices,
    )


def _ensure_fits(warps: int, clustered: int, shared: int) -> None:
    """What a test has in one place is no more than a GPU has there."""
    found = (
        (warps * WARP, MOST_THREADS, "a CTA of {:,} threads, with 32 for each that names no lane, and a GPU has {:,}"),
        (clustered, MOST_CTAS, "a cluster of {:,} CTAs, and every GPU with clusters takes {:,}"),
        (shared, MOST_SHARED, "a CTA with {:,} bytes of shared memory, and a GPU has {:,}"),
    )
    for number, most, reason in found:
        if number > most:
            raise Unsupported(f"it has {reason.format(number, most)}")


def cta_of(place: Place) -> Cta:
    """What tells CTAs apart: the cluster, by its device, its kernel and its number, and the rank."""
    return ((place.device, place.kernel, place.cluster), place.cta)


def _ensure_one_grid(program: Program) -> None:
    several = len(devices_of(program)) > 1
    reasons = (
        (program.hardware.skip is not None, program.hardware.skip or ""),
        (several and bool(program.views), "it needs several GPUs, and has views, which are of memory of one"),
        (_many_addresses(program), "it has more than two addresses for one object, or two for shared memory"),
        (
            _aligned_lanes(program),
            "lanes of a warp meet in an `.aligned` instruction, for which they need one path",
        ),
        (program.conventions.named_instances, "its barriers name dynamic instances, which PTX has not"),
        (not program.threads, "it has no threads"),
    )
    for holds, reason in reasons:
        if holds:
            raise Unsupported(reason)
    constants(program)
    views(program)
    for thread in program.threads:
        for statement in thread.body:
            if isinstance(statement, Foreign):
                raise Unsupported(statement.reason)


def _aligned_lanes(program: Program) -> bool:
    """Whether a thread that shares its warp has an instruction that all lanes must reach together: here they cannot."""
    warps = Counter((cta_of(t.place), t.place.warp) for t in program.threads if t.place.lane is not None)
    return any(
        warps[cta_of(thread.place), thread.place.warp] > 1
        and any(isinstance(s, TensormapCopy) or getattr(s, "aligned", False) for s in thread.body)
        for thread in program.threads
        if thread.place.lane is not None
    )


def _many_addresses(program: Program) -> bool:
    """Whether an object has more addresses than the harness gives it: two, in global memory."""
    aliases = [view for view in program.views if view.proxy is Proxy.GENERIC]
    targets = [program.physical(view.name) for view in aliases]
    return len({item.name for item in targets}) < len(targets) or any(o.space is not Space.GLOBAL for o in targets)


def _ctas(program: Program) -> dict[Cta, list[Thread]]:
    """The threads of each CTA, CTAs in the order of clusters and numbers."""
    found: dict[Cta, list[Thread]] = {}
    for thread in sorted(program.threads, key=lambda t: cta_of(t.place)):
        found.setdefault(cta_of(thread.place), []).append(thread)
    for item in program.objects:
        if item.owner is not None and cta_of(item.owner) not in found:
            raise Unsupported("a CTA in which no thread runs has shared memory")
    return found


def _warps(threads: list[Thread]) -> list[tuple[int, int]]:
    """The warp and the lane of each thread of a CTA: threads that name no warp get one each, after those named."""
    named = sorted({t.place.warp for t in threads if t.place.warp is not None})
    numbers = {warp: number for number, warp in enumerate(named)}
    seats, free = [], len(named)
    for thread in threads:
        if thread.place.warp is None:
            seats.append((free, 0))
            free += 1
        else:
            seats.append((numbers[thread.place.warp], thread.place.lane or 0))
    return seats


def _packs(thread: Thread) -> bool:
    """Whether 32 copies of a thread can be the lanes of a warp: it is alone there, and where it meets, all lanes do."""
    branches = any(isinstance(s, Branch | Exit) for s in thread.body)
    for statement in thread.body:
        if isinstance(statement, Barrier | ClusterBarrier) and (branches or statement.guard is not None):
            return False
        if isinstance(statement, Barrier) and statement.kind is Bar.RED:
            return False
        if isinstance(statement, Elect | TensormapCopy):
            return False
    return thread.place.lane is None


def _shared(program: Program) -> tuple[dict[str, int], int]:
    """Where each shared object lies in a slot, and the size of a slot; a family has one offset in all CTAs."""
    families: dict[str, int] = {}
    found, end = {}, 0
    maps = any(item.tensormap for item in program.objects)
    for item in program.objects:
        if item.space is not Space.SHARED:
            continue
        key = item.family or item.name
        if key not in families:
            step = 128 if maps and item.mbarrier is None else 16
            start = -(-end // step) * step
            families[key] = start
            end = start + item.size
        found[item.name] = families[key]
    widest = 128 if maps else 16
    return found, -(-end // widest) * widest
