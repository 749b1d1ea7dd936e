"""boto3, botocore and aiobotocore in this process."""
