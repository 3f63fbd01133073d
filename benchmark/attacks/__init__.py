"""Articles made to score well without being good, each from an honest article and the pages of its event.

Every attack is a pure function of `benchmark.attacks.given.Given`, in a module for its family; `benchmark.attacks.all_attacks`
lists them. The benchmark should rank each below the honest system that it was made from: `benchmark.attacks.standing` says
whether it does.

    python -m benchmark.attacks --system extractive --data DIR --split dev --limit 5
"""
