"""Native implementations of the home-ground families and their recognition in a ground program."""
