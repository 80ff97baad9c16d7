"""Theorems for any number of threads: a model read into first-order logic, and proved by Z3."""
