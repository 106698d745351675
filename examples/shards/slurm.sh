#!/bin/sh
#SBATCH --job-name=throughput
#SBATCH --array=1-3
#SBATCH --exclusive
#SBATCH --requeue
# A campaign on three nodes: sbatch slurm.sh. When all have ended:
#     sbatch --dependency=afterany:JOB --wrap 'brimful merge parts/* --out merged --html throughput.html'
# Put `tester:eth1,eth2` in the place of `sim:`. A job that was ended early goes on when it is started again.
set -eu
part=$SLURM_ARRAY_TASK_ID
brimful search -m 'sim:soft-knee,capacity=1Mpps,seed={repeat}' --sizes 64,512,1518 --repeat 2 --preset quick \
    --shard "$part/$SLURM_ARRAY_TASK_COUNT" --label "bed=$(hostname)" --out "parts/$part" --resume --quiet
