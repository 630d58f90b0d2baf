"""Games of other libraries as games of jaxgo."""
