"""Programs of others that play against ours: their process, their protocols, and the referee between."""
