"""Read botocore's data files once in a run of pytest, and not again in each session of botocore or boto3."""
