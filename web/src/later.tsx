// A view whose code is fetched when it is first opened.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { gone } from "./api";
import { useTurn } from "./live";
import { Failure } from "./parts";

export function later<P extends object>(fetched: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loadedView: FunctionComponent<P> | undefined;
  return function Later(props: P) {
    const [View, setView] = useState(() => loadedView);
    const [failed, fail] = useState(false);
    const { epoch } = useTurn();
    useEffect(() => {
      if (loadedView) return;
      fail(false);
      fetched().then(
        (view) => {
          loadedView = view;
          setView(() => view);
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
