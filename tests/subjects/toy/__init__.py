"""A subject that lies in this one folder: how many buckets of water a barrel took before it ran over."""
