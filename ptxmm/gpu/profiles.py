"""The profiles of the harness: how weak outcomes are looked for."""

from __future__ import annotations

from ptxmm.gpu.log import Profile

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(name="few", ctas_per_sm=2),
        Profile(name="dense", ctas_per_sm=4, slot=32),
        Profile(name="hot", working_set="hot", slot=32),
        Profile(name="busy", ctas_per_sm=2, busy=32),
        Profile(name="stress", working_set="hot", slot=4, ctas_per_sm=2, stress=4),
        Profile(name="cold"),
        Profile(name="plain", preload="none"),
        Profile(name="all", preload="all", ctas_per_sm=2),
        Profile(name="packed", working_set="hot", slot=4),
        Profile(name="wide", working_set="hot", slot=128, ctas_per_sm=2),
    )
}
"""Every profile by its name: few or many CTAs, cold or hot memory, lines read or stores queued before, stress."""

USUAL = ("few", "dense", "hot", "busy", "stress")
"""The profiles that run where none is named."""
