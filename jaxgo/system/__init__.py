"""The machine: devices, run folders, metrics."""
