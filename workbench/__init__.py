"""The meaning of complex event queries, executable: what a person imports."""

from importlib.metadata import version

__version__ = version("cerify")
