// Keys of the domain view: From (F), To (T) and assume down (D) for the selected part; X swaps the ends; Escape clears
// the selection, then the scenario, then the ends.
import { useLayoutEffect } from "preact/hooks";
import { change, type Route, selectedAddress } from "../route";
import { isSingleKey } from "../shortcuts";
import { relativeTo } from "../words";
import { factorOf, isChanged, type Scenario, setFactor } from "./scenario";

export function useKeys(route: Route, from: string, to: string, scenario: Scenario): void {
  useLayoutEffect(() => {
    const short = (address: string) => relativeTo(route.subject, address) || undefined;
    const press = (event: KeyboardEvent) => {
      if (!isSingleKey(event)) return;
      const sel = selectedAddress(route);
      const chip = /\/c\d+$/.test(sel);
      if (event.key === "f" && chip) change({ from: short(sel) });
      else if (event.key === "t" && chip) change({ to: short(sel) });
      else if (event.key === "x" && (from || to)) change({ from: short(to), to: short(from) });
      else if (event.key === "d" && sel) setFactor(route.subject, scenario, sel, factorOf(scenario, sel) === 0 ? 1 : 0);
      else if (event.key === "Escape" && sel) change({ sel: undefined });
      else if (event.key === "Escape" && isChanged(scenario)) change({ down: undefined, derate: undefined });
      else if (event.key === "Escape" && (from || to)) change({ from: undefined, to: undefined });
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [route, from, to, scenario]);
}
