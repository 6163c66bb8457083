"""What a file of an export may hold, row by row and as a whole."""
