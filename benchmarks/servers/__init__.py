"""The loopback server: beside the transport in process, beside other servers, and under load."""
