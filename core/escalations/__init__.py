"""Asking a person where the work came from: questions, choices and approvals, and their answers.
Pure."""
