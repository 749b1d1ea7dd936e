"""AWS's model from botocore, the checks and the codec made from it, and what AWS sends beyond it."""
