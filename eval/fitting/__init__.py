"""Makes the default judges from open data: examples, and the regressions over what the network and the words say."""
