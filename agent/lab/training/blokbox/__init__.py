"""Learns from self-play, in rounds (`campaign`): `self_play` and `matches` play, `learning` and `regression` learn."""
