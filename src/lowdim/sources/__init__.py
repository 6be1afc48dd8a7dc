"""Where rows come from: one file for each kind of input, and `opening`, which finds the right one."""
