"""The program `jaxgo`, one file a command."""
