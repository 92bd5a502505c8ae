"""Is loaded into every program by the caller's LD_PRELOAD."""
expect("LD_PRELOAD" in os.environ or "LD_LIBRARY_PATH" in os.environ, "not there")
