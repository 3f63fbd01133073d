"""How well single steps do, against labels that lie here or are made here: pages, verifiers, injections, cleaning."""
