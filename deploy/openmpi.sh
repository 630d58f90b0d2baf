#!/usr/bin/env bash
# One run on several hosts under Open MPI: HOSTS=a:1,b:1 deploy/openmpi.sh go9 --run /shared/runs/go9
# One process a host. They meet at the first one: Open MPI 5 does not tell JAX where that is.
set -euo pipefail
: "${HOSTS:?name the hosts, as in HOSTS=a:1,b:1}"
export JAX_COORDINATOR_ADDRESS="${JAX_COORDINATOR_ADDRESS:-${HOSTS%%[:,]*}:8476}"
exec mpirun --host "$HOSTS" --map-by ppr:1:node -x JAX_COORDINATOR_ADDRESS uv run --extra cuda "${PROGRAM:-train.py}" "$@"
