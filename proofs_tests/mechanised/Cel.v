(** The syntax of CEL and its meaning: tods21, Figure 3, section 4 and the strategies of section 7.1, for unary CEL.

    Letters, as in semantics/cel/denote.py:
      phi, psi  formulas      S  a stream      i, j, k  positions, 0-based, inclusive      mu  a valuation

    Events are abstract: each has a type, and a tuple predicate is any Boolean function of one event. Event types and
    variables are one set, as in the paper: the formula R binds the variable R. *)

From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Section Cel.

Variable event : Type.
Variable var : Type.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.
Variable type_of : event -> var.

Definition stream := nat -> event.

Inductive condition : Type :=
| Every (A : var) (P : event -> bool)          (* A[P]: every event of A satisfies P *)
| Conjunction (c1 c2 : condition)
| Disjunction (c1 c2 : condition).

Inductive formula : Type :=
| Event (R : var)
| In_ (psi : formula) (A : var)
| Filter (psi : formula) (c : condition)
| Seq (phi1 phi2 : formula)
| Plus (psi : formula)
| ContiguousSeq (phi1 phi2 : formula)
| ContiguousPlus (psi : formula)
| Project (L : list var) (psi : formula)
| Start (psi : formula)
| Or (phi1 phi2 : formula)
| And (phi1 phi2 : formula)
| All (phi1 phi2 : formula)
| Unless (phi1 phi2 : formula)
| Strict (psi : formula)
| Next (psi : formula)
| Last (psi : formula)
| Max (psi : formula).

(** A valuation maps a variable to a set of positions: mu A p says that p is in mu(A). Two valuations are the same if
    they map each variable to the same set; so each clause below describes its valuations up to [same]. *)

Definition valuation := var -> nat -> Prop.
Definition same (mu nu : valuation) : Prop := forall A p, mu A p <-> nu A p.
Definition sup (mu : valuation) : nat -> Prop := fun p => exists A, mu A p.

(** first = min(sup(mu)) and last = max(sup(mu)), where mu binds something. *)
Definition first (mu : valuation) (p : nat) : Prop := sup mu p /\ forall q, sup mu q -> p <= q.
Definition last (mu : valuation) (p : nat) : Prop := sup mu p /\ forall q, sup mu q -> q <= p.

Definition union (mu nu : valuation) : valuation := fun A p => mu A p \/ nu A p.

(** Complex events are sets of positions. C1 <= C2 in the order of NXT (LAST): they are equal, or the first (last) position
    in which they differ is one of C2. *)
Definition agree (C1 C2 : nat -> Prop) : Prop := forall p, C1 p <-> C2 p.
Definition below (C1 C2 : nat -> Prop) : Prop := (forall p, C1 p -> C2 p) /\ exists p, C2 p /\ ~ C1 p.

Definition next_at_most (C1 C2 : nat -> Prop) : Prop :=
  agree C1 C2 \/ exists p, C2 p /\ ~ C1 p /\ forall q, q < p -> (C1 q <-> C2 q).
Definition last_at_most (C1 C2 : nat -> Prop) : Prop :=
  agree C1 C2 \/ exists p, C2 p /\ ~ C1 p /\ forall q, p < q -> (C1 q <-> C2 q).

(** Whether the events that mu binds are in the condition's predicate (section 4, with its sugar). *)
Fixpoint satisfies (S : stream) (mu : valuation) (c : condition) : Prop :=
  match c with
  | Every A P => forall p, mu A p -> P (S p) = true
  | Conjunction c1 c2 => satisfies S mu c1 /\ satisfies S mu c2
  | Disjunction c1 c2 => satisfies S mu c1 \/ satisfies S mu c2
  end.

(** The clauses of ; and : over given meanings of their operands, for the iterations too. *)
Definition meanings := nat -> nat -> valuation -> Prop.

Definition sequenced (D1 D2 : meanings) : meanings := fun i j mu =>
  exists k mu1 mu2, i <= k < j /\ D1 i k mu1 /\ D2 (k + 1) j mu2 /\ same mu (union mu1 mu2).

Definition contiguous (D1 D2 : meanings) : meanings := fun i j mu =>
  exists k mu1 mu2, i <= k < j /\ D1 i k mu1 /\ D2 (k + 1) j mu2
    /\ last mu1 k /\ first mu2 (k + 1) /\ same mu (union mu1 mu2).

(** phi+ is phi OR (phi ; phi+): the least set with phi, and with phi ; X for all it has. Its members by their number of
    rounds, less one. *)
Fixpoint rounds (join : meanings -> meanings -> meanings) (D : meanings) (n : nat) : meanings :=
  match n with
  | 0 => D
  | S n => join D (rounds join D n)
  end.

(** The valuations of phi over S from i to j. *)
Fixpoint meaning (S : stream) (phi : formula) : meanings := fun i j mu =>
  match phi with
  | Event R => i <= j /\ type_of (S j) = R /\ same mu (fun A p => A = R /\ p = j)
  | In_ psi A => exists nu, meaning S psi i j nu /\
      same mu (fun B p => (B <> A /\ nu B p) \/ (B = A /\ sup nu p))
  | Filter psi c => meaning S psi i j mu /\ satisfies S mu c
  | Seq phi1 phi2 => sequenced (meaning S phi1) (meaning S phi2) i j mu
  | Plus psi => exists n, rounds sequenced (meaning S psi) n i j mu
  | ContiguousSeq phi1 phi2 => contiguous (meaning S phi1) (meaning S phi2) i j mu
  | ContiguousPlus psi => exists n, rounds contiguous (meaning S psi) n i j mu
  | Project L psi => exists nu, meaning S psi i j nu /\ same mu (fun A p => In A L /\ nu A p)
  | Start psi => meaning S psi i j mu /\ first mu i
  | Or phi1 phi2 => meaning S phi1 i j mu \/ meaning S phi2 i j mu
  | And phi1 phi2 => meaning S phi1 i j mu /\ meaning S phi2 i j mu
  | All phi1 phi2 => exists i1 j1 i2 j2 mu1 mu2,
      i1 <= j1 /\ i2 <= j2 /\ i = min i1 i2 /\ j = max j1 j2 /\
      meaning S phi1 i1 j1 mu1 /\ meaning S phi2 i2 j2 mu2 /\ same mu (union mu1 mu2)
  | Unless phi1 phi2 => meaning S phi1 i j mu /\
      forall i' j' nu, i <= i' -> i' <= j' -> j' <= j -> ~ meaning S phi2 i' j' nu
  | Strict psi => meaning S psi i j mu /\
      forall p q r, sup mu p -> sup mu r -> p < q < r -> sup mu q
  | Next psi => meaning S psi i j mu /\ forall nu, meaning S psi i j nu -> next_at_most (sup nu) (sup mu)
  | Last psi => meaning S psi i j mu /\ forall nu, meaning S psi i j nu -> last_at_most (sup nu) (sup mu)
  | Max psi => meaning S psi i j mu /\ forall nu, meaning S psi i j nu -> ~ below (sup mu) (sup nu)
  end.

End Cel.
