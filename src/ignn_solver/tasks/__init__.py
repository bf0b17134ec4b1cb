"""Training, evaluation and checkpoints for each task."""
