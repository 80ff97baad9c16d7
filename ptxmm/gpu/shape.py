"""How large a launch is: CTAs, rounds, slots and buffers, from the kernel, the profile and the device."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ptxmm.gpu.harness import HEADER, MEETING, STATES, VALUES
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.layout import Layout
from ptxmm.gpu.log import Profile
from ptxmm.gpu.parameters import ROOM
from ptxmm.gpu.views import BANK

CTA = 256
"""Threads of the CTAs that `ctas_per_sm` counts."""

COLD, HOT = 3.0, 0.5
"""Sizes of the working set, in sizes of L2."""

MOST_ROUNDS, MOST_ROUNDS_ALONE = 64, 16
"""Rounds of a pass, and those of teams that run one copy: a wait that is stuck costs each of them its patience."""

APART = 4352
"""Bytes between the arrays of two objects, beyond what they hold: they must not lie in the same sets of a cache."""

SHARED = 48 << 10

BANKED_ROUNDS = 4
"""Rounds of a pass that a test in the constant bank should have: few CTAs fit into it."""

PIECE = 2 << 20
"""What the size of a piece of memory on one of several GPUs is a multiple of."""

CLUSTERS = 0.9
"""The part of the CTAs that clusters can use: they must not cross the bounds of a group of multiprocessors."""


@dataclass(frozen=True, slots=True)
class Chip:
    """What the size of a launch depends on."""

    multiprocessors: int
    l2: int


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch: `units` of CTAs that play all roles, `rounds` a pass, `slot` bytes a copy in each of the arrays."""

    units: int
    ctas: int
    threads: int
    teams: int
    rounds: int
    slot: int
    stride: int
    dynamic: int
    memory: int
    results: int
    sync: int
    table: int
    turn: int
    copies: int

    @property
    def instances(self) -> int:
        """Copies of the test in one pass."""
        return self.copies * self.teams * self.rounds


def units(layout: Layout, profile: Profile, chip: Chip, occupancy: int, sides: int) -> int:
    """Units that each side of a launch has where at most `occupancy` CTAs fit on a multiprocessor: all run at once."""
    per_sm = max(1, min(occupancy, profile.ctas_per_sm * CTA // layout.threads))
    ctas = chip.multiprocessors * per_sm
    if layout.cluster_size > 1:
        ctas = int(ctas * CLUSTERS)
    clusters = ctas // layout.cluster_size
    if profile.stress:
        clusters -= clusters // profile.stress
    return clusters // (max(layout.spread) * sides)


def shape(kernel: Kernel, profile: Profile, chip: Chip, occupancy: int, sides: int = 1) -> Shape:
    """The size of one of the `sides` of a launch where at most `occupancy` CTAs fit on a multiprocessor."""
    layout = kernel.layout
    units_ = max(1, units(layout, profile, chip, occupancy, sides))
    if layout.parameters:
        units_ = max(1, min(units_, ROOM // (layout.teams * layout.copies)))
    banked = BANK // kernel.views.bank if kernel.views.bank else sys.maxsize
    units_ = max(1, min(units_, banked // (layout.teams * layout.copies * BANKED_ROUNDS)))
    teams = units_ * layout.teams
    slot = max(profile.slot, 1 << (kernel.object_bytes - 1).bit_length())
    round_bytes = max(1, teams * layout.copies * slot * kernel.objects)
    wanted = (COLD if profile.working_set == "cold" else HOT) * chip.l2 / sides / round_bytes
    rounds = int(min(MOST_ROUNDS if layout.packed else MOST_ROUNDS_ALONE, max(1, wanted)))
    if layout.dependent or layout.once or layout.parameters:
        rounds = 1
    rounds = max(1, min(rounds, banked // (teams * layout.copies)))
    if layout.slot:
        rounds = max(1, min(rounds, (SHARED // 4) // layout.slot))
    copies = teams * layout.copies * rounds
    size = -(-copies * slot // 512) * 512
    if kernel.placed:
        size = -(-(size + kernel.objects * APART) // PIECE) * PIECE
    stride = size + APART
    return Shape(
        units=units_,
        ctas=units_ * layout.ctas,
        threads=layout.threads,
        teams=teams,
        rounds=rounds,
        slot=slot,
        stride=stride,
        dynamic=layout.slot * rounds,
        memory=(size if kernel.placed else stride) * max(1, kernel.objects),
        results=2 * copies * kernel.result_bytes,
        sync=HEADER + MEETING * teams,
        table=VALUES + STATES * 8 * max(1, sum(kernel.words)),
        turn=units_ // 3 | 1,
        copies=layout.copies,
    )
