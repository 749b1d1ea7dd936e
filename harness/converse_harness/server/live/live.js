"use strict";
// Shows the calls while they happen. The server sends each fake and each call as a fragment of HTML in which every text
// is escaped; a fragment replaces the one before it. The policy of the page lets no script run but this one.
const fakes = document.getElementById("fakes");
const state = document.getElementById("state");
const MOST_CALLS = 200; // of one fake
const MOST_FAKES = 100;
const template = document.createElement("template");

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

function fakeOf(number) {
  const id = `fake-${number}`;
  let fake = document.getElementById(id);
  if (fake === null) {
    fake = element("section", "fake");
    fake.id = id;
    fake.append(element("header", "head"), element("div", "calls"));
    fakes.prepend(fake);
    while (fakes.children.length > MOST_FAKES) fakes.lastElementChild.remove();
  }
  return fake;
}

// What a person has opened stays open when its fragment is replaced.
function replaceContent(place, html) {
  const open = [...place.querySelectorAll("details")].map((each) => each.open);
  template.innerHTML = html;
  place.replaceChildren(template.content);
  place.querySelectorAll("details").forEach((each, index) => {
    if (index < open.length) each.open = open[index];
  });
}

function callOf(fake, number) {
  const calls = fake.querySelector(".calls");
  const numberOf = (each) => Number(each.dataset.call);
  const after = [...calls.children].find((each) => numberOf(each) >= number);
  if (after !== undefined && numberOf(after) === number) return after;
  const call = element("div", "call");
  call.dataset.call = number;
  calls.insertBefore(call, after ?? null);
  while (calls.children.length > MOST_CALLS) calls.firstElementChild.remove();
  return call;
}

const events = new EventSource(`/__converse/live${location.search}`);
const on = (kind, show) => events.addEventListener(kind, (event) => show(JSON.parse(event.data)));
on("reset", () => fakes.replaceChildren());
on("fake", (data) => replaceContent(fakeOf(data.fake).querySelector(".head"), data.html));
on("call", (data) => replaceContent(callOf(fakeOf(data.fake), data.call), data.html));
on("closed", (data) => fakeOf(data.fake).classList.add("closed"));

events.onopen = () => {
  state.textContent = "Live: new calls appear below.";
};
events.onerror = () => {
  state.textContent =
    events.readyState === EventSource.CLOSED
      ? "The server does not send calls to this page any more. If it was started anew, open the address that it printed."
      : "The server cannot be reached. This page tries again.";
};
