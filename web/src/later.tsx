// What is no part of the first page: loaded when it is shown for the first time.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A component of a chunk of its own. */
export function later<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | undefined;
  return (props) => {
    const [Found, setFound] = useState(() => loaded);
    const [failed, setFailed] = useState<unknown>();
    useEffect(() => {
      if (loaded) return;
      load().then((found) => {
        loaded = found;
        setFound(() => found);
      }, setFailed);
    }, []);
    if (failed) throw failed;
    return Found ? (
      <Found {...props} />
    ) : (
      <p class="quiet" aria-busy="true">
        Loading…
      </p>
    );
  };
}
