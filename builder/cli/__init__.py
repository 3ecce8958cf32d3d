"""Commands, wiring, reporters: the only floor that prints, exits or reads the environment."""
