// Not a module: it runs before the first paint, so that the chosen theme does not flash.
(() => {
  // Vega clears elements through innerHTML; on this page nothing but an empty string may become markup.
  window.trustedTypes?.createPolicy("default", { createHTML: (text) => (text === "" ? text : null) });
  const names = ["auto", "light", "dark"];
  const root = document.documentElement;
  const read = () => {
    try {
      return names.includes(localStorage.swoopTheme) ? localStorage.swoopTheme : "auto";
    } catch {
      return "auto";
    }
  };
  root.dataset.theme = read();
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const text = document.getElementById("theme-text");
    const label = { auto: "system default", light: "light", dark: "dark" };
    const show = () => {
      const name = root.dataset.theme;
      text.textContent = name[0].toUpperCase() + name.slice(1);
      button.setAttribute("aria-label", `Colours: ${label[name]}`);
    };
    button.addEventListener("click", () => {
      root.dataset.theme = names[(names.indexOf(root.dataset.theme) + 1) % names.length];
      try {
        localStorage.swoopTheme = root.dataset.theme;
      } catch {
        // a browser that keeps nothing
      }
      show();
      root.dispatchEvent(new Event("themechange"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => root.dispatchEvent(new Event("themechange")));
    show();
  });
})();
