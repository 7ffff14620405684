"""Training of the native families by self-play, a package for each; `command` in it is its part of `lab train`."""
