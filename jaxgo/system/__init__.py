"""The machine: devices, files, weights, run folders, metrics, gentle stops, the pulse of hosts."""
