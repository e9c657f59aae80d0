"""What a response to a request for a robots.txt means, before any rule is read."""
