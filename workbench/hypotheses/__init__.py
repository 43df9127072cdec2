"""Possible meanings of each language, right and wrong, one module a language, and questions that distinguish them.

Engines differ in several independent aspects of meaning, called axes, such as how a window counts its last event. A
hypothesis about an engine chooses a value for each axis. Conformance explains a failure by a hypothesis; identification
asks an engine questions until only one hypothesis is left.
"""
