"""The rules that ``bot.offline`` answers by: how it reads a request, what it takes in, and how it answers."""
