"""The mock interview: `course interview` in the terminal, and the same rounds in a notebook."""
