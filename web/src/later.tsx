// A view whose code is fetched when it is first opened.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { gone } from "./api";
import { useTurn } from "./live";
import { Failure } from "./parts";

export function later<P extends object>(fetched: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let known: FunctionComponent<P> | undefined;
  return function Later(props: P) {
    const [View, found] = useState(() => known);
    const [failed, fail] = useState(false);
    const { epoch } = useTurn();
    useEffect(() => {
      if (known) return;
      fail(false);
      fetched().then(
        (view) => {
          known = view;
          found(() => view);
        },
        () => fail(true),
      );
    }, [epoch]);
    if (failed) return <Failure error={gone()} />;
    if (View) return <View {...props} />;
    return (
      <p class="quiet loading" aria-busy="true">
        Loading…
      </p>
    );
  };
}
