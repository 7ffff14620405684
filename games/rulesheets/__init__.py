"""The project's own rulesheets (`*.kif`), written from descriptions of the games, and where to find them."""
