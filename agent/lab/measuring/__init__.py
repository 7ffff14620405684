"""Measures what the project claims: `speed`, `strength`, what becomes of rulesheets (`sheets`), and how servers do
under load and faults (`servers`). Only commands import it.
"""
