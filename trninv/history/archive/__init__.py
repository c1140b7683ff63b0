"""Archive history as Parquet files, partitioned by day, for other engines."""
