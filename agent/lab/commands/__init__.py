"""The laboratory's commands, one file each (see `agent.commands`): `tournament`, and those below `lab`."""
