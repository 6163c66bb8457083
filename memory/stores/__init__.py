"""One kind of memory = one module = its own tables. SQL lives only here; stores never call one another's tables."""
