"""Whether a sentence says what its facts say: rules that compare the two, in both directions (`rewording.compare`)."""
