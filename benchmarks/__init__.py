"""lowdim compared with other libraries in one run: `make bench`, or `python -m benchmarks [case ...]`."""
