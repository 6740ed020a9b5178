(** The lemmas behind a certificate's bounds on all words of a class: a dual vector bounds every word.

    Costs are integers, as in the checker: multiples of one power of two. A word over two symbols is a list of Booleans;
    a position has the cost of false and the cost of true. *)

Require Import ZArith List Lia.
Import ListNotations.
Open Scope Z_scope.

Definition paid (position : Z * Z) (symbol : bool) : Z := if symbol then snd position else fst position.

Fixpoint cost (positions : list (Z * Z)) (word : list bool) : Z :=
  match positions, word with
  | position :: positions, symbol :: word => paid position symbol + cost positions word
  | _, _ => 0
  end.

Fixpoint ones (word : list bool) : Z :=
  match word with
  | [] => 0
  | symbol :: word => (if symbol then 1 else 0) + ones word
  end.

Fixpoint relaxed (multiplier : Z) (positions : list (Z * Z)) : Z :=
  match positions with
  | [] => 0
  | position :: positions => Z.min (fst position) (snd position + multiplier) + relaxed multiplier positions
  end.

(** One number for a class of counts: every word with k ones costs at least Σ min(c₀, c₁ + λ) − λ k. *)
Theorem count_dual : forall multiplier positions word,
  length word = length positions ->
  relaxed multiplier positions - multiplier * ones word <= cost positions word.
Proof.
  intros multiplier positions.
  induction positions as [| position positions IH]; intros [| symbol word] same; simpl in *; try discriminate; try lia.
  injection same as same. specialize (IH word same).
  destruct symbol; unfold paid; lia.
Qed.

(** A potential for an automaton: if no edge costs less than the potential falls along it, a word costs at least the
    potential of its start less that of its end. *)
Section Automaton.
  Variable state : Type.
  Variable move : state -> bool -> state.
  Variable potential : nat -> state -> Z. (* by the number of positions that are left *)

  Fixpoint ends (here : state) (word : list bool) : state :=
    match word with
    | [] => here
    | symbol :: word => ends (move here symbol) word
    end.

  Fixpoint sound (positions : list (Z * Z)) : Prop :=
    match positions with
    | [] => True
    | position :: positions =>
        (forall here symbol,
          potential (S (length positions)) here <= paid position symbol + potential (length positions) (move here symbol))
        /\ sound positions
    end.

  Theorem potential_dual : forall positions word here,
    sound positions -> length word = length positions ->
    potential (length positions) here - potential 0 (ends here word) <= cost positions word.
  Proof.
    induction positions as [| position positions IH]; intros [| symbol word] here edges same;
      simpl in *; try discriminate; try lia.
    injection same as same. destruct edges as [edge edges].
    specialize (IH word (move here symbol) edges same). specialize (edge here symbol). lia.
  Qed.
End Automaton.

(** From the dual of N − t Z to the quotient, as the checker rounds: if N − t Z ≥ G, Z ≥ m > 0 and G < 0, then
    N ≥ (t + ⌊G / m⌋) Z. *)
Theorem quotient : forall N Z t G m,
  0 < m -> m <= Z -> N - t * Z >= G -> G < 0 -> (t + G / m) * Z <= N.
Proof.
  intros N Z t G m positive above dual negative.
  assert (floor : m * (G / m) <= G) by (apply Z.mul_div_le; lia).
  assert (below : G / m < 0) by (apply Z.div_lt_upper_bound; lia).
  nia.
Qed.

Print Assumptions count_dual.
Print Assumptions potential_dual.
Print Assumptions quotient.
