"""Which state of the database an answer was read from, as headers."""

from typing import Final

from trninv.inventory.pinned import AsOf

AS_OF_HEADER: Final = "X-As-Of"
OMITTED_CLUSTERS_HEADER: Final = "X-Left-Out"


def revision_headers(as_of: AsOf | None) -> dict[str, str]:
    """X-As-Of: the time, and the revision where it is known, as in 2026-11-22T07:20:00.000Z; revision=0f3a….

    X-Left-Out: the clusters of which nothing is known at that time, if there are any, with commas between them.
    """
    if as_of is None:
        return {}
    fields = as_of.fields()
    omitted = {OMITTED_CLUSTERS_HEADER: ", ".join(cluster.slug for cluster in as_of.omitted)} if as_of.omitted else {}
    state = f"{fields['time']}; revision={fields['revision']}" if fields["revision"] else str(fields["time"])
    return {AS_OF_HEADER: state} | omitted
