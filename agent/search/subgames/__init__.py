"""Games that fall apart: independent parts of the rules (`parts`), machines of these (`division`), a search of each
(`engine`)."""
