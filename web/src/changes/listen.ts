// Listen for changes, through the worker that all windows share or on a stream of the window's own.
import { type ChangeMessage, Source } from "./source";

export interface Listener {
  /** Whether the stream is open. */
  readonly open: boolean;
  /** Start listening, also after the stream ended, or stop. */
  hear: (isHearing: boolean) => void;
}

export function createListener(tell: (message: ChangeMessage) => void): Listener {
  let open = false;
  let send: (isHearing: boolean) => void;
  const receive = (message: ChangeMessage) => {
    if ("open" in message) open = message.open;
    tell(message);
  };
  const alone = () => {
    const source = new Source("changes", receive);
    send = (isHearing) => (isHearing ? source.begin() : source.end());
  };
  if ("SharedWorker" in window) {
    const worker = new SharedWorker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.port.onmessage = ({ data }) => receive(data);
    worker.onerror = () => {
      alone();
      send(!document.hidden);
    };
    send = (isHearing) => worker.port.postMessage(isHearing);
  } else alone();
  return {
    get open() {
      return open;
    },
    hear: (isHearing) => {
      if (!isHearing) open = false;
      send(isHearing);
    },
  };
}
