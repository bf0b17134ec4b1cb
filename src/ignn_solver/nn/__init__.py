"""Layers and classifiers."""
