"""History as Parquet, partitioned by day: what outgrows the database, and what other engines read."""
