"""Allocate chips to jobs, find places for new jobs, and plan moves that make room."""
