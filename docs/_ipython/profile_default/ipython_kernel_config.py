"""Kernels of the build stay silent unless something fails."""

c = get_config()
c.IPKernelApp.log_level = "ERROR"
