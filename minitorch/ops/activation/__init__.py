"""The nonlinearities of neural networks."""
