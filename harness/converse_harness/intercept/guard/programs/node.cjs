"use strict";
// Keeps a program of Node.js away from Bedrock: `fetch` and `https` do not use the proxy of the environment.
// `children` adds this file to NODE_OPTIONS. The proxy knows the hosts of Bedrock, and reports refusals to the tests.
const port = Number(process.env.CONVERSE_HARNESS_GUARD);

function check(host, then) {
  const asking = require("net").connect(port, "127.0.0.1", () => asking.write(`CHECK / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
  const done = (refused) => { asking.destroy(); then(refused); };
  asking.once("data", (answer) => done(answer.includes(" 403 ")));
  asking.once("error", () => done(false)); // the tests have ended, and their proxy with them
}

if (port) {
  const dns = require("dns");
  const original = dns.lookup;
  const lookup = function (host, ...rest) {
    if (!/bedrock/i.test(host)) return original.call(this, host, ...rest);
    check(host, (refused) => {
      if (!refused) return original.call(this, host, ...rest);
      const error = new Error(
        `converse-harness refused ${host}: this process was started while a fake was open. Use the fixture ` +
          "`converse_server` and put `fake.environ` into its environment.   More: converse-harness docs guard children",
      );
      rest[rest.length - 1](error);
    });
    return {};
  };
  dns.lookup = Object.defineProperties(lookup, Object.getOwnPropertyDescriptors(original));
}
