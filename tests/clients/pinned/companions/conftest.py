"""Import bedrock-agentcore, which langchain-aws imports too, without its warning: here it would be an error."""

import warnings

with warnings.catch_warnings():
    # The class RequestContext of bedrock-agentcore 1.25 has the config of pydantic 1.
    warnings.filterwarnings("ignore", "Support for class-based `config` is deprecated", DeprecationWarning)
    import bedrock_agentcore  # noqa: F401
