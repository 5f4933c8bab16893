"""What a check shows and an answer earns: values, known mistakes, and shares of the points."""
