(() => {
  "use strict";
  // Show what has the chosen value of each bar, or all; without scripts everything is there.
  const bars = [...document.querySelectorAll(".filter")];
  const shown = [...document.querySelectorAll("main [data-verdict]")];
  const tables = [...document.querySelectorAll("main .claims")];
  const told = document.querySelector(".told");
  const chosen = new Map();

  function choose(bar, value) {
    const of = bar.dataset.of;
    const buttons = [...bar.querySelectorAll("button")];
    chosen.set(of, buttons.some((each) => each.dataset[of] === value) ? value : "");
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset[of] === chosen.get(of))));
    const out = (each) => [...chosen].some(([key, wanted]) => wanted !== "" && each.dataset[key] !== wanted);
    shown.forEach((each) => each.classList.toggle("filtered-out", out(each)));
    // No headings over nothing.
    const left = (part) => part.querySelectorAll("[data-verdict]:not(.filtered-out)").length;
    tables.forEach((each) => each.classList.toggle("filtered-out", left(each) === 0));
    const count = shown.filter((each) => !out(each)).length;
    told.textContent = count === shown.length ? "" : `${count} of ${shown.length} claims`;
  }

  bars.forEach((bar) => {
    const of = bar.dataset.of;
    bar.querySelectorAll("button").forEach((each) => each.addEventListener("click", () => choose(bar, each.dataset[of])));
    bar.hidden = false;
    choose(bar, new URLSearchParams(location.search).get(of) || "");
  });
})();
