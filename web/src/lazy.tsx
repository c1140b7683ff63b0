// A view whose code is fetched when it is first opened.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { unreachableError } from "./api";
import { useAsOf } from "./live";
import { Failure } from "./parts";

export function lazyView<P extends object>(fetched: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loadedView: FunctionComponent<P> | undefined;
  return function Later(props: P) {
    const [View, setView] = useState(() => loadedView);
    const [failed, fail] = useState(false);
    const { epoch } = useAsOf();
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
    if (failed) return <Failure error={unreachableError()} />;
    if (View) return <View {...props} />;
    return (
      <p class="quiet loading" aria-busy="true">
        Loading…
      </p>
    );
  };
}
