"""Tests of switches on many ports (RFC 2889): which addresses they learn, how fast, and which frames they forward."""
