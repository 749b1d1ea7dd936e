"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tools = one(".tools");
  const search = one(".search");
  const onlyFailed = one(".only-failed");
  const keys = one(".keys");
  const status = one(".found");
  tools.hidden = false;

  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    const calls = all("article.call");
    let shown = 0;
    for (const call of calls) {
      const matches = !wanted || call.textContent.toLowerCase().includes(wanted);
      call.hidden = !matches || (onlyFailed.checked && !call.classList.contains("failed"));
      shown += call.hidden ? 0 : 1;
    }
    for (const link of all(".overview a")) {
      const call = document.getElementById(link.getAttribute("href").slice(1));
      link.parentElement.hidden = call !== null && call.hidden;
    }
    status.textContent = wanted || onlyFailed.checked ? `${shown} of ${calls.length} calls` : "";
  };

  const setAll = (open) => {
    for (const each of all("details")) {
      each.open = open;
    }
  };

  const go = (step) => {
    const calls = all("article.call").filter((call) => !call.hidden && call.getClientRects().length > 0);
    if (calls.length === 0) {
      return;
    }
    const at = calls.findIndex((call) => call.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : calls.length - 1) : Math.min(Math.max(at + step, 0), calls.length - 1);
    calls[next].focus();
    calls[next].scrollIntoView({ block: "start" });
  };

  // A link may lead into something that is closed or filtered out.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target === null) {
      return;
    }
    target.hidden = false;
    for (let each = target.parentElement; each !== null; each = each.parentElement) {
      if (each.tagName === "DETAILS") {
        each.open = true;
      }
    }
    target.scrollIntoView({ block: "start" });
  };

  const actions = {
    "/": () => search.focus(),
    j: () => go(1),
    k: () => go(-1),
    o: () => setAll(true),
    c: () => setAll(false),
  };

  search.addEventListener("input", filter);
  onlyFailed.addEventListener("change", filter);
  one(".open-all").addEventListener("click", () => setAll(true));
  one(".close-all").addEventListener("click", () => setAll(false));
  addEventListener("hashchange", reveal);
  addEventListener("keydown", (event) => {
    const inField = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (event.key === "Escape" && event.target === search) {
      search.value = "";
      search.blur();
      filter();
    } else if (keys.checked && !inField && !event.ctrlKey && !event.metaKey && !event.altKey && event.key in actions) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  // A page that is still filled calls this after it has added calls.
  document.addEventListener("converse-changed", filter);
  reveal();
})();
