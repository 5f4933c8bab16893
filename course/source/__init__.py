"""The text that everything is made of: cells, parts of mytorch, and the exercises of a chapter."""
