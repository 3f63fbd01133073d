"""The smaller commands of `wikigenben`, one module each, and the flags that several share (`arguments`)."""
