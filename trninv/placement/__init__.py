"""Allocate chips to jobs, find candidates for new jobs and plan moves."""
