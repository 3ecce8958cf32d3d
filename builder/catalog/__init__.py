"""The facts vendors publish: loading, cross-checking, asking."""
