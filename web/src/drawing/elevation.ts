// What stands where in a rack; trninv/drawing/rack.py places the same.
export interface Tray {
  ordinal: number;
  kind: string;
  rackUnits: number | null;
}

export interface RackServer {
  address: string;
  ordinal: number;
  state: string;
  trays: Tray[];
  chips: { address: string; ordinal: number; state: string; tray: number | null }[];
}

export interface Slot {
  server: RackServer;
  /** Null of a server of which no document says how it is split. */
  tray: Tray | null;
  /** The lowest of its rack units, counted from 1 at the bottom, and how many it has. */
  from: number;
  units: number;
  /** Whether its height is assumed. */
  assumed: boolean;
  chips: RackServer["chips"];
}

/** Servers from the bottom up, each with its trays from the bottom up; a height no document gives is taken as 1U. */
export function elevation(servers: RackServer[]): Slot[] {
  let from = 1;
  return servers.flatMap((server) => {
    const trays: (Tray | null)[] = server.trays.length ? server.trays : [null];
    return trays.map((tray) => {
      const slot = {
        server,
        tray,
        from,
        units: tray?.rackUnits ?? 1,
        assumed: !tray?.rackUnits,
        chips: server.chips.filter((chip) => tray === null || chip.tray === tray.ordinal),
      };
      from += slot.units;
      return slot;
    });
  });
}
