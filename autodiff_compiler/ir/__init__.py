"""The intermediate representation: structured SSA, typed at birth, closed under differentiation."""
