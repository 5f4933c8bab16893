"""Fourier transforms. Source: https://pytorch.org/docs/stable/fft.html"""
