// What stands below a page on paper: its address, the time that it shows, and when it was printed.
import { useEffect, useState } from "preact/hooks";
import { useMoment } from "../live";
import { dated, moments } from "../state";

export function Printed() {
  const { asof, reached } = useMoment();
  const [time, setTime] = useState(Date.now);
  useEffect(() => {
    const print = () => setTime(Date.now());
    addEventListener("beforeprint", print);
    return () => removeEventListener("beforeprint", print);
  }, []);
  return (
    <footer class="printed">
      <span>{location.href}</span>
      <span>as of {asof ? moments(asof) : reached ? dated(reached) : "no data yet"}</span>
      <span>printed {dated(time)}</span>
    </footer>
  );
}
