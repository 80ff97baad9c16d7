"""Measurements on a GPU: what forms of synchronisation cost, and where a missing one shows."""
