"""Read what each source reports: one file per source, with its reader and its `SourceDeclaration`."""
