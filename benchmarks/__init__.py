"""Our figures beside our peers', measured in one run on the same input, as ratios. Run: make bench."""
