"""Scripts that measure ptxmm."""
