"""What `acre heap` is made of: profiles read, named, summed up and shown."""
