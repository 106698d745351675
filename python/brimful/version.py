"""The version of the program: records name it."""

VERSION = "0.1.0"
