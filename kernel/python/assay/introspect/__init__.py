"""Answers to questions about the kernel: summaries of the user's variables, and the code of graders."""
