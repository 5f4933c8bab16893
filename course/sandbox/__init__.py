"""The sandbox that a submission runs in: how it is started from outside, and what runs inside."""
