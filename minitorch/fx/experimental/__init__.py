"""What PyTorch keeps here of sizes that are symbols."""
