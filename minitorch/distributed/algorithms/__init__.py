"""What is built on collectives: joining of uneven inputs, and hooks that reduce gradients."""
