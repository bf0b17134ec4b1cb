"""Pictures and pages of the results."""
