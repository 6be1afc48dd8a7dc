"""What everything else stands on: arrays, devices, threads, BLAS and files. It knows nothing of statistics."""

__version__ = "0.1.0"
