"""Learning a solver for one model: closed forms for the default, gradients for the paper's parts."""
