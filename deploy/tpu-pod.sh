#!/usr/bin/env bash
# One run on all hosts of a TPU pod: start this on each of them, for instance by the cloud's own "ssh --worker=all".
#   deploy/tpu-pod.sh go9 --run /shared/runs/go9
set -euo pipefail
export JAXGO_POD=1 # a shell on a TPU machine has no variable from which a pod could be told from a single host
exec uv run --extra tpu "${PROGRAM:-train.py}" "$@"
