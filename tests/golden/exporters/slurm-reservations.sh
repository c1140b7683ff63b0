# u-trn2x64 as slurm-reservations, written by trninv as of event 71
# nothing is reserved
