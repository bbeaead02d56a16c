"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const form = $("filters"), section = $("by-section"), verdict = $("by-verdict");
  const shown = $("shown"), nothing = $("nothing"), openAll = $("open-all");
  const claims = [...document.querySelectorAll("details.claim")];
  const groups = [...document.querySelectorAll(".group")];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // Show the claims that fit both choices, say how many, and keep the choice in the address.
  function apply(remember) {
    let count = 0;
    for (const claim of claims) {
      const fits = (!section.value || claim.dataset.section === section.value)
        && (!verdict.value || claim.dataset.verdict === verdict.value);
      claim.hidden = !fits;
      count += fits;
    }
    for (const group of groups) group.hidden = !group.querySelector("details.claim:not([hidden])");
    nothing.hidden = count > 0;
    shown.textContent = `${count} of ${claims.length} claims`;
    if (!remember) return;
    const chosen = new URLSearchParams();
    if (section.value) chosen.set("section", section.value);
    if (verdict.value) chosen.set("verdict", verdict.value);
    history.replaceState(null, "", chosen.size ? `#claims?${chosen}` : "#claims");
  }

  function choose(part, outcome) {
    section.value = part;
    verdict.value = outcome;
    if (section.selectedIndex < 0) section.value = "";
    if (verdict.selectedIndex < 0) verdict.value = "";
  }

  function toClaims() {
    $("claims").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
  }

  // An address can name a choice of claims, or one claim or choice to be opened.
  function follow() {
    const address = decodeURIComponent(location.hash.slice(1));
    if (address.startsWith("claims?")) {
      const chosen = new URLSearchParams(address.slice("claims?".length));
      choose(chosen.get("section") ?? "", chosen.get("verdict") ?? "");
      apply(false);
      $("claims").scrollIntoView();
      return;
    }
    const target = address && $(address);
    if (!(target instanceof HTMLDetailsElement)) return;
    if (target.hidden) {
      choose("", "");
      apply(false);
    }
    target.open = true;
    target.scrollIntoView();
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => apply(true));
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    choose("", "");
    apply(true);
  });
  for (const link of document.querySelectorAll("a.count")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      choose("", link.dataset.verdict);
      apply(true);
      toClaims();
      verdict.focus({ preventScroll: true });
    });
  }
  openAll.addEventListener("click", () => {
    const open = openAll.getAttribute("aria-pressed") !== "true";
    for (const claim of claims) claim.open = open;
    openAll.setAttribute("aria-pressed", String(open));
    openAll.textContent = open ? "Close all" : "Open all";
  });

  // Paper shows everything: what is closed is opened for printing and closed again.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const detail of closed) detail.open = true;
  });
  addEventListener("afterprint", () => {
    for (const detail of closed) detail.open = false;
    closed = [];
  });

  addEventListener("hashchange", follow);
  apply(false);
  follow();
})();
