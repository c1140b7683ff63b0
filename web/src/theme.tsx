// Light, dark, or as the system has it.
import { useState } from "preact/hooks";

const KEPT = "trninv theme";
const THEMES = { system: "◑", light: "☀", dark: "☾" };
type Theme = keyof typeof THEMES;

function kept(): Theme {
  const theme = localStorage.getItem(KEPT);
  return theme === "light" || theme === "dark" ? theme : "system";
}

function worn(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

worn(kept());

export function ThemeSwitch() {
  const [theme, setTheme] = useState(kept);
  const turn = () => {
    const all = Object.keys(THEMES) as Theme[];
    const next = all[(all.indexOf(theme) + 1) % all.length] as Theme;
    localStorage.setItem(KEPT, next);
    worn(next);
    setTheme(next);
  };
  return (
    <button type="button" class="icon" onClick={turn} title={`Theme: ${theme}`} aria-label={`Theme: ${theme}`}>
      <span aria-hidden="true">{THEMES[theme]}</span>
    </button>
  );
}
