"""Training: packed BatchNorm networks, sweeps over the scale of the start, storage of every run."""
