// Filters for a page that is complete without them: this only hides.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const search = document.getElementById("search");
  const owners = [...document.querySelectorAll(".owner")];
  const entries = new Map([...document.querySelectorAll(".index li")].map((one) => [one.dataset.for, one]));
  const total = document.querySelectorAll(".change").length;
  const sides = ["senders", "receivers", "python"];
  const order = ["neutral", "additive", "breaking"];

  const checked = (name) => new Set([...form.querySelectorAll(`input[name="${name}"]:checked`)].map((one) => one.value));
  const worst = (data) => order[Math.max(...sides.map((side) => order.indexOf(data[side])))];

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = checked("level");
    const [side] = checked("side");
    const profiles = form.querySelector('input[name="profile"]') ? checked("profile") : null;
    let shown = 0;
    for (const owner of owners) {
      const fits = !profiles || owner.dataset.profiles.split(" ").some((one) => profiles.has(one));
      let left = 0;
      for (const change of owner.querySelectorAll(".change")) {
        const level = side === "any" ? worst(change.dataset) : change.dataset[side];
        const name = change.dataset.name ?? owner.dataset.name;
        change.hidden = !(fits && levels.has(level) && words.every((word) => name.includes(word)));
        left += change.hidden ? 0 : 1;
      }
      owner.hidden = left === 0;
      entries.get(owner.id).hidden = owner.hidden;
      shown += left;
    }
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = !group.querySelector(".owner:not([hidden])");
    }
    for (const heading of document.querySelectorAll(".index h2")) {
      heading.hidden = !heading.nextElementSibling.querySelector("li:not([hidden])");
    }
    document.getElementById("nothing").hidden = shown > 0 || total === 0;
    document.getElementById("shown").textContent = `${shown} of ${total} shown`;
    document.body.classList.toggle("every-row", document.getElementById("all-rows").checked);
  };

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("reset").addEventListener("click", () => {
    form.reset();
    apply();
    search.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  // A link to a definition that the filter hides shows it again.
  addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.hidden) {
      form.reset();
      apply();
      target.scrollIntoView();
    }
  });
  if (matchMedia("(max-width: 62rem)").matches) document.querySelector(".index details").open = false;
  document.body.classList.add("filtered");
  form.hidden = false;
  apply();
})();
