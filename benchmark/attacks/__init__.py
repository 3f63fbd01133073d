"""Articles made to score well without being good: `wikigenben attacks --system extractive --data DIR --limit 5`.

Every attack is a pure function of an honest article and the pages of its event (`given`), in a module for its family;
`all_attacks` lists them. The benchmark should rank each below the honest system: `standing` says whether it does.
"""
