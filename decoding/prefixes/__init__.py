"""Trained beginnings of prompts, by the file of weights that they were trained for."""
