"""Send the revision that a response was read from as headers."""

from typing import Final

from trninv.inventory.pinned import AsOf

AS_OF_HEADER: Final = "X-As-Of"
OMITTED_CLUSTERS_HEADER: Final = "X-Omitted-Clusters"


def revision_headers(as_of: AsOf | None) -> dict[str, str]:
    """Return X-As-Of and, if clusters were omitted, X-Omitted-Clusters.

    X-As-Of is the time, with the revision if known: 2026-11-22T07:20:00.000Z; revision=0f3a…. X-Omitted-Clusters lists the
    clusters without data at that time, separated by commas.
    """
    if as_of is None:
        return {}
    fields = as_of.fields()
    omitted = {OMITTED_CLUSTERS_HEADER: ", ".join(cluster.slug for cluster in as_of.omitted)} if as_of.omitted else {}
    state = f"{fields['time']}; revision={fields['revision']}" if fields["revision"] else str(fields["time"])
    return {AS_OF_HEADER: state} | omitted
