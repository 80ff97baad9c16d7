"""ptxmm decides small GPU synchronisation protocols under the PTX memory model."""

__version__ = "0.1.0"
