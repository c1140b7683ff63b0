"""Allocate chips to jobs, import jobs from schedulers, and cordon servers."""
