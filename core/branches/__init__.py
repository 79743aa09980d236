"""Branch tables: foreseen outcomes, worked through by a cheap child, an overseer and people."""
