"""Plan once, run isolated, record everything."""
