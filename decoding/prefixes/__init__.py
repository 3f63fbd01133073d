"""Prefix tuning: how a prompt begins, as keys and values that were trained instead of read.

`prefix`     a trained beginning, its file, and which prompts begin with it; start here
`training`   the loop that makes one
`weights/`   those of the models that this project ships some for, a folder a model
"""
