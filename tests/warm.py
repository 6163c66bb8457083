"""What takes most of a start, done when this is imported; the processes of ``tests.forked`` have it done."""

from __future__ import annotations

import alembic.command
import faiss
import onnxruntime
import tiktoken
import tokenizers

import adapters.console
import adapters.discord_adapter
import adapters.slack_adapter
import bot.cli
import bot.llm
import bot.pages
from memory.migrations import schema_versions
from memory.tokens import TiktokenCounter

__all__ = ["adapters", "alembic", "bot", "faiss", "onnxruntime", "tiktoken", "tokenizers"]

schema_versions()
TiktokenCounter().count("The first count reads the vocabulary.")
