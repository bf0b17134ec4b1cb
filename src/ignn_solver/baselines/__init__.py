"""What a user would pick instead: explicit and implicit models with the interface of our classifiers."""
