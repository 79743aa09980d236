"""Everything that touches the outside, one package per thing; none imports another."""
