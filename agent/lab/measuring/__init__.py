"""Measurements of `speed`, `strength`, rulesheets (`sheets`) and `servers`, for commands."""
