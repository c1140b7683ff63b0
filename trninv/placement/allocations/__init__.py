"""Allocate chips to jobs and cordon servers."""
