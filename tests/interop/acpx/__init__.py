"""acpx, a client on the command line that nobody here wrote, drives our agents."""
