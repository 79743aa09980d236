"""Slack through slack-bolt and slack_sdk."""
