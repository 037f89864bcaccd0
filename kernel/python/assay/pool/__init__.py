"""The parent of warm kernels: it imports modules once and forks a kernel for each session."""
