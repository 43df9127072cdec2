"""All errata, and how the cases of a paper are to be read."""

from __future__ import annotations

from proofs_tests.claims.errata import cep17, sase, tods21, vldb92
from proofs_tests.claims.errata.erratum import Erratum

ERRATA: tuple[Erratum, ...] = (*tods21.ERRATA, *cep17.ERRATA, *sase.ERRATA, *vldb92.ERRATA)
NOTES = {"cep17": cep17.NOTE, "sase07": sase.NOTE, "icde08": sase.NOTE_OF_ICDE08, "vldb92": vldb92.NOTE}


def erratum_of(id_: str) -> Erratum | None:
    """The erratum that is about a claim, if there is one."""
    return next((erratum for erratum in ERRATA if id_ in erratum.claims), None)
