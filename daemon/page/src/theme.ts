// Light, dark, or as the system has it. The colours of the dark one stand in a <style> of their own, whose
// `media` says when they hold.

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const media: Record<Theme, string> = { system: "screen and (prefers-color-scheme: dark)", light: "not all", dark: "screen" };
const storageKey = "filibuster-theme";

// A browser may refuse storage to a page from disk: then a choice lasts as long as the page.
function kept(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

export function themeNow(): Theme {
  const found = kept();
  return themes.find((theme) => theme === found) ?? "system";
}

export function showTheme(theme: Theme) {
  (document.getElementById("dark") as HTMLStyleElement).media = media[theme];
}

export function keepTheme(theme: Theme) {
  showTheme(theme);
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // See above.
  }
}
