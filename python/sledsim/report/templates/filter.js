(() => {
  "use strict";
  // Show what has one verdict, or all; without scripts everything is there.
  const bar = document.querySelector(".filter");
  if (!bar) return;
  const shown = [...document.querySelectorAll("[data-verdict]")].filter((each) => !bar.contains(each));
  const buttons = [...bar.querySelectorAll("button")];

  function choose(verdict) {
    const known = buttons.some((each) => each.dataset.verdict === verdict) ? verdict : "";
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.verdict === known)));
    shown.forEach((each) => each.classList.toggle("filtered-out", known !== "" && each.dataset.verdict !== known));
  }

  buttons.forEach((each) => each.addEventListener("click", () => choose(each.dataset.verdict)));
  bar.hidden = false;
  choose(new URLSearchParams(location.search).get("verdict") || "");
})();
