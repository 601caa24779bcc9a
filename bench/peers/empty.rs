// cargo wants a file; there is no code (see Cargo.toml).
