"""Nothing reaches Bedrock while a fake is open: connections, names of hosts, child processes, pools of workers."""
