"""Will a model run there: run one on a device, or hold what it calls against recorded results."""
