#!/usr/bin/env bash
# One run on hosts that nothing else starts together: on host number I of N
#   COORDINATOR=first-host:9911 HOSTS=N HOST=I EXTRA=cuda deploy/hosts.sh go9 --run /shared/runs/go9
# EXTRA is cuda or tpu; without it the hosts compute on their processors.
# PROGRAM=eval.py plays a match on them instead.
set -euo pipefail
export JAX_COORDINATOR_ADDRESS="${COORDINATOR:?the address of host 0 and a free port, as in COORDINATOR=10.0.0.1:9911}"
export JAX_NUM_PROCESSES="${HOSTS:?how many hosts there are}" JAX_PROCESS_ID="${HOST:?the number of this host, from 0}"
exec uv run ${EXTRA:+--extra "$EXTRA"} "${PROGRAM:-train.py}" "$@"
