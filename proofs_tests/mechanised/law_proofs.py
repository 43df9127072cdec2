"""How the laws are proved in Coq that the tactic `law` does not prove; the tactics are in Tactics.v."""

from __future__ import annotations

INCLUDES = (
    ": is below ;",
    ": is ; and :",
    ":+ is below +",
    "+ and :+",
    ":{1,2} is below {1,2}",
    "ALL is above its own operand",
    "ALL is above AND",
    "ALL is above ;",
    "ALL is above ; turned round",
    "UNLESS ; only adds",
)
EMPTY = (
    "AND of what is alike in both",
    "nothing",
    "nothing and OR",
    "nothing and ;",
    "nothing after :",
    "nothing and ALL",
    "nothing, iterated",
)
SELECTS = (
    *(f"UNLESS {W}" for W in ("NXT", "LAST", "MAX")),
    *(f"IN and {W}" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} is idempotent" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} is below its operand" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} of OR in two steps" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} and UNLESS" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} of ; in two steps" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} of + in two steps" for W in ("NXT", "LAST", "MAX")),
    *(f"{W} of : in two steps" for W in ("NXT", "LAST", "MAX")),
    *(law for W in ("NXT", "LAST") for law in (f"{W} of MAX", f"MAX of {W}", f"{W} is below MAX")),
    "MAX of :+ in two steps",
    "NXT of LAST",
    "LAST of NXT",
    "START of NXT",
    "START of MAX",
    "PROJECT to nothing keeps nothing to order",
)

PROOFS: dict[str, str] = {
    **dict.fromkeys(INCLUDES, "includes"),
    **dict.fromkeys(EMPTY, "empty"),
    **dict.fromkeys(SELECTS, "selects"),
    "IN changes no complex event": "intros; apply (map_keeps_events event var type_of (bound_as var X)); "
    "[apply bound_as_support|reflexivity]",
    "IN of its own type": "operations; apply map_nothing; [auto with cel|apply event_bound_as]",
    "PROJECT of PROJECT": "operations; apply only_only; intros V; cbn; intuition congruence",
    "PROJECT to what IN bound": "intros; apply only_what_is_bound",
    "PROJECT and FILTER of a variable that is kept": "operations; symmetry; apply map_filter; "
    "intros; unfold only; cbn; tauto",
    "PROJECT of what is bound alone": "operations; apply map_nothing; [auto with cel|apply event_only]",
    "PROJECT to what is not there": "intros phi Z N S; autorewrite with cel; apply map_pointwise; "
    "intros i j mu K A p; unfold only; cbn; split; [intros [[<-|[]] H]; destruct (N S i j mu p K H)|tauto]",
    "FILTER over ALL": "operations; apply (restrict_interleaved var (fun mu => satisfies event var S mu (Every X P))); "
    "intros; apply every_union; assumption",
    "FILTER and IN of another variable": "operations; apply map_filter; intros; unfold bound_as; tauto",
    "FILTER of a variable that is not bound": "intros phi Z P N S; autorewrite with cel; apply and_left; "
    "intros i j mu K p L; destruct (N S i j mu p K L)",
    "and in brackets": "brackets andb_true_iff",
    "not of and in brackets": "brackets negb_andb",
    "not of or in brackets": "brackets negb_orb",
    "not twice in brackets": "brackets negb_involutive",
    "MAX of ALL in two steps": "intros; apply max_of_all, var_dec",
    "STRICT of ; is :": "intros phi psi B C S; autorewrite with cel; apply strict_sequenced; "
    "auto with cel; apply (meaning_bounded event var type_of var_dec)",
    "STRICT of + is :+": "intros phi B S; autorewrite with cel; apply strict_plus; "
    "auto with cel; apply (meaning_bounded event var type_of var_dec)",
    "STRICT of an event": "operations; apply and_left; intros i j mu K; eapply event_unbroken; eauto",
}
"""By the name of the law, the proof."""
