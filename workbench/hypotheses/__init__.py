"""The readings and wrong semantics of each language, one module a language, and questions that distinguish them.

A hypothesis is a point in independent axes, such as "how a window counts its last event". Conformance names the cause
of a failure by such a point, and identification asks an engine questions until one point is left.
"""
