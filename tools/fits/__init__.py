"""How shipped data was made: one module for each file of weights or words that the library loads."""
