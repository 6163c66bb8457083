"""The texts that are searched, their vectors, and the generations of the indexes over them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Text

from memory.schema.columns import personal

search_entries = personal(
    "search_entries",
    Column("source", String(32), primary_key=True),
    Column("record_id", BigInteger, primary_key=True),
    Column("chunk", Integer, primary_key=True, default=0),
    Column("id", BigInteger, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("embedder", String(120)),  # null until the vector is there
    Column("vector", LargeBinary),  # float16, little endian, unit length
    Column("tokens", LargeBinary),  # of each token, int8, length 127; null where the embedder gives none
)
Index("search_entries_by_embedder", search_entries.c.embedder)

index_generations = personal(
    "index_generations",
    Column("source", String(32), primary_key=True),
    Column("generation", BigInteger, nullable=False),
)
