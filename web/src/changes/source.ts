// The service's stream of changes (server-sent events).
import type { introspection } from "../schema";

type Values<E extends "PartKind" | "EventAction"> = Lowercase<introspection["types"][E]["enumValues"]>;
const KINDS = Object.keys({
  ...{ chip: 0, server: 0, switch: 0, nic: 0, network_node: 0, link: 0 },
  ...{ allocate: 0, move: 0, release: 0, cordon: 0, uncordon: 0, reserve: 0, unreserve: 0 },
  message: 0,
} satisfies Record<Values<"PartKind" | "EventAction"> | "message", 0>);

/** Whether the stream is open; the address and event of a change, of several at once the last. */
export type ChangeMessage = { open: boolean } | { address: string; event: number };

export class Source {
  #events: EventSource | undefined;

  constructor(
    readonly url: string,
    readonly tell: (heard: ChangeMessage) => void,
  ) {}

  get open(): boolean {
    return this.#events?.readyState === EventSource.OPEN;
  }

  /** Start listening. Changes between two streams are missed; whoever sees the stream open must check for them. */
  begin(): void {
    if (this.#events && this.#events.readyState !== EventSource.CLOSED) return;
    const events = new EventSource(this.url);
    events.onopen = () => this.tell({ open: true });
    events.onerror = () => this.tell({ open: false });
    const hear = (message: MessageEvent) => {
      const { address, event, batch } = JSON.parse(message.data);
      this.tell({ address: String(address), event: batch ?? event });
    };
    for (const kind of KINDS) events.addEventListener(kind, hear);
    this.#events = events;
  }

  end(): void {
    this.#events?.close();
    this.#events = undefined;
  }
}
