"""Training of the compact model: task data, tokenizer, objective, trainer, export, evaluation.

Nothing here is needed to decode; nothing outside this package imports it at load time.
"""
