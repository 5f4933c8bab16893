"""Ops that make tensors: of sizes, of data, of other tensors."""
