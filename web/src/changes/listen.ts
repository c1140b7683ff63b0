// How a window hears of changes: through the worker that all windows share, or by a stream of its own.
import { type ChangeMessage, Source } from "./source";

export interface Listener {
  /** Whether changes are told. */
  readonly open: boolean;
  /** Listen, again if the stream has ended; or leave it. */
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
