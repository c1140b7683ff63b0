"""Declare the closed sets of words that columns take, with their meanings."""

from collections.abc import Mapping
from typing import Final

STATE_MEANINGS: Final[Mapping[str, str]] = {
    "up": "Works at full capacity.",
    "degraded": "Works partly: it carries a fraction of its capacity (its factor), or all of it if no factor is set.",
    "down": "Failed; it carries nothing.",
    "maintenance": "Taken out of service; it carries nothing.",
}
STATES = tuple(STATE_MEANINGS)
SEVERITY_ORDER: Final = ("up", "degraded", "maintenance", "down")
"""States from best to worst; a part's effective state is the worse of its own state and its server's."""
CARRYING_STATES = ("up", "degraded")
"""The states in which a part still works, at least partly."""
TOKEN_SCOPE_MEANINGS: Final[Mapping[str, str]] = {
    "read": "May read everything, except with SQL.",
    "sql": "May read everything, also with SQL.",
    "operate": "May read everything, except with SQL, and run mutations.",
    "observe": "May only report observations of one machine: the instance or host that the token was created for.",
    "admin": "May do everything.",
}
TOKEN_SCOPES = tuple(TOKEN_SCOPE_MEANINGS)
TOKEN_SCOPES_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "read": frozenset({"read"}),
    "sql": frozenset({"read", "sql"}),
    "operate": frozenset({"read", "operate"}),
    "observe": frozenset({"observe"}),
    "admin": frozenset(TOKEN_SCOPES),
}
"""The required scopes that a token satisfies, by the token's scope."""
TOKEN_ACTION_MEANINGS: Final[Mapping[str, str]] = {
    "create": "An administrator created it.",
    "enroll": "A machine got it in exchange for its EC2 instance identity document.",
    "rotate": "A newer token replaced it; it expires once the overlap is over.",
    "use": "It was used for the first time.",
    "revoke": "It was revoked.",
}
"""What happened to a token."""
NODE_KINDS = ("chip", "switch", "nic", "network_node")
PART_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "server": "A server; its state cascades to its chips, NICs and switches.",
    "chip": "A chip.",
    "switch": "A switch.",
    "nic": "An EFA device.",
    "network_node": "A network node of the EFA fabric.",
    "link": "A link.",
}
PART_KINDS = tuple(PART_KIND_MEANINGS)
EVENT_SOURCE_MEANINGS: Final[Mapping[str, str]] = {
    "command": "The command line.",
    "api": "The GraphQL API.",
    "import": "A report of a machine or its manager.",
    "drift": "A difference between design and observation.",
    "sql": "An SQL statement.",
}
EVENT_SOURCES = tuple(EVENT_SOURCE_MEANINGS)
"""The origins of an event."""
ACTION_MEANINGS: Final[Mapping[str, str]] = {
    "allocate": "Chips were allocated to a job.",
    "move": "A job moved to other chips: one event at its old place and one at its new place; only the first if an "
    "import moved it within the same place.",
    "release": "A job ended and its chips were released.",
    "cordon": "A server was cordoned and takes no new jobs.",
    "uncordon": "A server was uncordoned and takes new jobs again.",
    "reserve": "Chips were reserved for a time.",
    "unreserve": "A reservation was cancelled.",
}
ACTIONS = tuple(ACTION_MEANINGS)
"""What an event did to a job, a server's cordon or a reservation; an event that changes a state has no action."""
JOB_ACTIONS, SERVER_ACTIONS, RESERVATION_ACTIONS = ACTIONS[:3], ACTIONS[3:5], ACTIONS[5:]
FORMER_ACTIONS: Final[Mapping[str, str]] = {"allocate": "hold", "cordon": "close", "uncordon": "open"}
"""The actions that were renamed before the first release, each with its former name in older archives and seals."""
SWEEP_STATE_MEANINGS: Final[Mapping[str, str]] = {
    "running": "It is running.",
    "done": "It is done and has a result.",
    "failed": "It has failed; error says why.",
    "cancelled": "It was cancelled.",
}
START_CAUSE_MEANINGS: Final[Mapping[str, str]] = {
    "seed": "The cluster was seeded or adopted.",
    "grow": "The cluster grew by domains.",
    "archive": "Earlier events were moved to an archive.",
    "migrate": "The database was migrated to the schema version that records starts.",
    "unseed": "The cluster was removed.",
}
LINK_SCOPE_MEANINGS: Final[Mapping[str, str]] = {
    "server": "Links chips and switches of one server.",
    "rack": "Links chips and switches of one rack.",
    "domain": "Links chips and switches of one domain.",
    "host": "Links a chip and a NIC of the same server.",
    "fabric": "Links a NIC or a network node to the network node above it.",
}
LINK_SCOPES = tuple(LINK_SCOPE_MEANINGS)
TRAY_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "head": "Contains the host CPUs.",
    "compute": "Contains chips.",
}
TRAY_KINDS = tuple(TRAY_KIND_MEANINGS)
ALLOCATION_ROLE_MEANINGS: Final[Mapping[str, str]] = {
    "work": "The job uses it.",
    "spare": "It is kept for the job, to replace a failed chip.",
}
RESERVATION_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "job": "The chips are kept for a job: no other job that may still run then gets them.",
    "maintenance": "The chips are taken out of service: no job that may still run then gets them.",
}
BINDING_METHOD_MEANINGS: Final[Mapping[str, str]] = {
    "pin": "Set by a person.",
    "adopted": "The slot was created for the instance.",
    "ultraserver": "Inferred from its UltraServer, which has another bound instance.",
    "capacity-block": "Inferred from its capacity block, which has another bound instance.",
    "network-node": "Inferred from the network node above it, where no other slot is left.",
    "host-name": "Inferred from its host name, which names the slot.",
    "only-place": "Inferred because no other slot and no other instance fits.",
    "in-order": "Assigned in order among slots that fit equally well.",
}
CONFIDENCE_MEANINGS: Final[Mapping[str, str]] = {
    "certain": "Set by a person, or nothing else is possible.",
    "likely": "Follows from a convention, such as host names.",
    "interchangeable": "Other slots fit equally well: no observation tells them apart.",
}
BINDING_END_MEANINGS: Final[Mapping[str, str]] = {
    "undone": "A person undid it.",
    "replaced": "Another instance was bound to the slot.",
    "moved": "The instance was bound to another slot.",
    "renewed": "The same binding was renewed with more information.",
    "unseeded": "The cluster was removed.",
}
MEASURED_OPERATION_MEANINGS: Final[Mapping[str, str]] = {
    "all-gather": "Each chip gets the data of all chips.",
    "all-reduce": "Each chip gets the sum of the data of all chips.",
    "reduce-scatter": "Each chip gets its share of the sum of the data of all chips.",
    "all-to-all": "Each chip sends different data to each other chip.",
    "send-receive": "Chips send data to each other in pairs.",
    "permute": "Each chip sends its data to one other chip.",
    "transfer": "One place sends data to another.",
}
"""What a measurement timed."""
