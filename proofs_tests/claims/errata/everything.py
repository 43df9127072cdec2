"""All errata, and how the cases of a paper are to be read."""

from __future__ import annotations

from proofs_tests.claims.errata import cep17, sase, tods21, vldb92
from proofs_tests.claims.errata.erratum import DamagedText, Erratum

ERRATA: tuple[Erratum, ...] = (*tods21.ERRATA, *cep17.ERRATA, *sase.ERRATA, *vldb92.ERRATA)
DAMAGED: tuple[DamagedText, ...] = (*tods21.DAMAGED, *cep17.DAMAGED, *sase.DAMAGED, *vldb92.DAMAGED)
NOTES = {"cep17": cep17.NOTE, "sase07": sase.NOTE, "icde08": sase.NOTE_OF_ICDE08, "vldb92": vldb92.NOTE}


def erratum_of(id_: str) -> Erratum | None:
    """The erratum that is about a claim, if there is one."""
    return next((erratum for erratum in ERRATA if id_ in erratum.claims), None)


def is_damaged(id_: str) -> bool:
    """Return whether a claim that fails as printed may fail because of the copy that was read."""
    return any(id_ in text.claims for text in DAMAGED)
