"""Commands, wiring, reporters: the only floor that prints or exits."""
