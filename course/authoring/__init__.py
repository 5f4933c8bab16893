"""From the sources of chapters and of mytorch to notebooks."""
