"""One file a format, called as the format is; `trninv.exporters.register` finds them."""
