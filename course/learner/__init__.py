"""What a learner does, and what is kept of it."""
