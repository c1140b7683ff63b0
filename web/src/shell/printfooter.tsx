// The footer of a printed page: its address, the time that it shows, and when it was printed.
import { useEffect, useState } from "preact/hooks";
import { usePageTime } from "../live";
import { formatAsOf, formatDateTime } from "../state";

export function PrintFooter() {
  const { asof, reached } = usePageTime();
  const [time, setTime] = useState(Date.now);
  useEffect(() => {
    const print = () => setTime(Date.now());
    addEventListener("beforeprint", print);
    return () => removeEventListener("beforeprint", print);
  }, []);
  return (
    <footer class="printed">
      <span>{location.href}</span>
      <span>as of {asof ? formatAsOf(asof) : reached ? formatDateTime(reached) : "no data yet"}</span>
      <span>printed {formatDateTime(time)}</span>
    </footer>
  );
}
