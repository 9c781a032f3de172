"""What a message is and what is wrong with it, for people: `python -m <package> explain`."""
