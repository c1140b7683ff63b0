// One stream of changes for all windows of a browser, since HTTP/1.1 allows six connections to a host in all windows.
import { Source } from "./source";

const ports = new Set<MessagePort>();
const source = new Source("../changes", (heard) => {
  for (const port of ports) port.postMessage(heard);
});

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0] as MessagePort;
  port.onmessage = ({ data: isHearing }) => {
    if (isHearing) {
      ports.add(port);
      source.begin();
      if (source.open) port.postMessage({ open: true });
      return;
    }
    ports.delete(port);
    if (!ports.size) source.end();
  };
});
