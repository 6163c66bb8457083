"""Alembic migrations, append-only: a step that has been released is never edited."""
