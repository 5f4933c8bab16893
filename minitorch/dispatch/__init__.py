"""How any op runs: `declaration` says what one is, `apply` is where all of them run."""
