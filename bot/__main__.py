"""``python -m bot`` is ``keepsake``."""

from bot.cli import main

main()
