#!/usr/bin/env bash
# One run on several hosts under Open MPI: HOSTS=a:1,b:1 deploy/openmpi.sh go9 --run /shared/runs/go9
# One process a host; JAX finds the others by itself.
set -euo pipefail
exec mpirun --host "${HOSTS:?name the hosts, as in HOSTS=a:1,b:1}" --map-by ppr:1:node uv run --extra cuda "${PROGRAM:-train.py}" "$@"
