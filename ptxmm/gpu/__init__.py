"""Litmus tests on a GPU: PTX text from programs, a harness around it, launches, and logs of what was seen."""
