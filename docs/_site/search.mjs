// Ask the search of a built site, with the site's own scripts: node search.mjs SITE, the questions as JSON on stdin.
// Prints for each question the names of the pages that it finds, the best first.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";

const site = process.argv[2];
const questions = JSON.parse(readFileSync(0, "utf8"));

// What a browser has and the scripts touch when they are loaded.
const storage = { getItem: () => null, setItem: () => {}, removeItem: () => {} };
const element = { dataset: {}, querySelectorAll: () => [], addEventListener: () => {} };
const page = { ...element, readyState: "loading", documentElement: element, getElementById: () => null };
const browser = createContext({ console, localStorage: storage, document: page, URLSearchParams });
browser.window = browser;

const scripts = [
  "_static/documentation_options.js",
  "_static/doctools.js",
  "_static/sphinx_highlight.js",
  "_static/base-stemmer.js",
  "_static/english-stemmer.js",
  "_static/language_data.js",
  "_static/searchtools.js",
  "searchindex.js",
];
runInContext(scripts.map((name) => readFileSync(join(site, name), "utf8")).join("\n;\n"), browser);

const found = Object.fromEntries(
  questions.map((question) => {
    browser.question = question;
    const results = runInContext("Search._performSearch(...Search._parseQuery(question))", browser);
    // The scripts show the last result first.
    return [question, [...new Set(results.reverse().map(([name]) => name))]];
  }),
);
console.log(JSON.stringify(found));
