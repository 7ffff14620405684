"""Search: the general tree search on a stream of lanes, and the alpha-beta engines of the native families."""
