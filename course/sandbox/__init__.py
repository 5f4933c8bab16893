"""The sandbox that a submission runs in, as it is started from outside."""
