"""What an organisation needs to take part: certificates, keys, start scripts."""
