"use strict";
// Shows calls while they happen. The server sends each call as a fragment of HTML in which every text is escaped; a
// fragment replaces the one before it. The policy of the page lets no script run but the page's own.
(() => {
  const MOST_FAKES = 100;
  const MOST_CALLS = 200; // of one fake
  const fakes = document.getElementById("fakes");
  const state = document.getElementById("state");
  const template = document.createElement("template");

  const element = (name, className, ...content) => {
    const made = document.createElement(name);
    made.className = className;
    made.append(...content);
    return made;
  };

  const fakeOf = (number) => {
    const id = `fake-${number}`;
    let fake = document.getElementById(id);
    if (fake === null) {
      const title = element("h2", "", element("span", "title"), " ", element("small", "state", "open"));
      fake = element("section", "page-section", title, element("div", "head"), element("div", "calls"));
      fake.id = id;
      fakes.prepend(fake);
      while (fakes.children.length > MOST_FAKES) {
        fakes.lastElementChild.remove();
      }
    }
    return fake;
  };

  const callOf = (fake, number) => {
    const calls = fake.querySelector(".calls");
    const numberOf = (each) => Number(each.dataset.number);
    const next = [...calls.children].find((each) => numberOf(each) >= number) ?? null;
    if (next !== null && numberOf(next) === number) {
      return next;
    }
    const call = element("div", "");
    call.dataset.number = number;
    calls.insertBefore(call, next);
    while (calls.children.length > MOST_CALLS) {
      calls.firstElementChild.remove();
    }
    return call;
  };

  // What a person has opened stays open, and what has the focus keeps it.
  const replaceContent = (place, html) => {
    const details = () => [...place.querySelectorAll("details")];
    const open = details().map((each) => each.open);
    const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
    template.innerHTML = html;
    place.replaceChildren(template.content);
    details().forEach((each, index) => {
      each.open = open[index] ?? each.open;
    });
    if (focused) {
      document.getElementById(focused)?.focus({ preventScroll: true });
    }
  };

  const source = new EventSource(`/__converse/live${location.search}`);
  const on = (kind, show) => {
    source.addEventListener(kind, (event) => {
      show(JSON.parse(event.data));
      document.dispatchEvent(new Event("converse-changed"));
    });
  };

  on("reset", () => fakes.replaceChildren());
  on("fake", ({ fake, title, html }) => {
    const shown = fakeOf(fake);
    shown.querySelector(".title").textContent = title;
    replaceContent(shown.querySelector(".head"), html);
  });
  on("call", ({ fake, call, html }) => replaceContent(callOf(fakeOf(fake), call), html));
  on("closed", ({ fake }) => {
    fakeOf(fake).querySelector(".state").textContent = "closed";
  });

  source.onopen = () => {
    state.textContent = "Live: calls appear here when they come.";
  };
  source.onerror = () => {
    state.textContent =
      source.readyState === EventSource.CLOSED
        ? "The server refuses to send more. If it was started again, open the address that it printed."
        : "The server cannot be reached: it has stopped, or the connection broke. This page tries again.";
  };
})();
