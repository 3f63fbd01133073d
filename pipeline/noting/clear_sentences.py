"""Sentences that can be read alone are notes as they stand. They cost no reading, so that all pages are looked through.

A small model notes half of what it reads that a human article has, too; the sentences that pass the gate (`choosing.gate`) hold
twice as much, and both together more than either (LOG.md).
"""

from __future__ import annotations

from data.decoding_counts import Usage
from pipeline.choosing.candidates import Candidate, candidates
from pipeline.choosing.gate import gate
from pipeline.choosing.subject import names_subject, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Note, TakenNotes
from pipeline.noting.material import commands, tells_what_to_write


def clear_sentences(evidence: Evidence, about: AboutPages) -> TakenNotes:
    """In page order: of pages about the subject, and of passages of others that name it."""
    words = subject_terms(evidence.event.title)
    verdicts = {one.page: one.verdict for one in about.pages}

    def may_be_read(candidate: Candidate) -> bool:
        verdict = verdicts.get(candidate.page)
        if verdict != "subject" and not (verdict == "mention" and names_subject(words, candidate.passage.text)):
            return False
        spans = commands(evidence.pages[candidate.page].text)
        return not any(start < candidate.end and candidate.start < end for start, end in spans)

    found = [one for one in candidates(evidence.passages, evidence.pages) if may_be_read(one)]
    offered = [one for one in gate(evidence, found).offered if not tells_what_to_write(one.text)]
    read = dict.fromkeys(one.passage.id for one in found)
    return TakenNotes(tuple(read), tuple(Note(one.text, one.candidate.passage.id, one.day) for one in offered), (), Usage())
