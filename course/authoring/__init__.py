"""The build, and what tries out how good the exercises are."""
