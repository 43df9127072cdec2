"""All lemmas: importing this enters them."""

from proofs_tests.lemmas import intervals, orders, star  # noqa: F401
from proofs_tests.lemmas.lemma import LEMMAS, Lemma, proved

__all__ = ["LEMMAS", "Lemma", "proved"]
