"""Clients of this process: answering them, forwarding and capturing their calls, and blocking all other ways to
Bedrock.
"""
