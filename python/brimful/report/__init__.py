"""Reports: any saved run as text or HTML. They read records and nothing else."""
