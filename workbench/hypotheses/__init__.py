"""The readings and wrong semantics of each language, one module a language, and questions that distinguish them.

A hypothesis about an engine gives a value to each of several independent axes, such as "how a window counts its last
event". Conformance names the cause of a failure by a hypothesis, and identification asks an engine questions until one
hypothesis is left.
"""
