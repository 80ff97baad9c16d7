"""The measurements by name."""

from __future__ import annotations

from ptxmm.gpu.measure import (
    atomics_offset,
    combine,
    grid_sync,
    inflight_rewrite,
    multicast,
    stale_descriptor,
    tma_batch,
    wait_cost,
)
from ptxmm.gpu.measure.measure import Measure

MEASURES: dict[str, Measure] = {
    module.MEASURE.name: module.MEASURE
    for module in (
        wait_cost,
        grid_sync,
        stale_descriptor,
        inflight_rewrite,
        tma_batch,
        multicast,
        atomics_offset,
        combine,
    )
}
