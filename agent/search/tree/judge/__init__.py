"""A linear evaluation of positions, learnt from random play: `judge` fits it, `sampling` plays the matches."""
