// Verifies signed requests by an implementation of RFC 9421 from npm, and prints what came of each.
// Takes {jwk, messages: [{method, url, headers}]} on standard input.
const { createPublicKey } = require("node:crypto");
const { createVerifier, httpbis } = require("http-message-signatures");

async function main() {
  const { jwk, messages } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const known = { id: jwk.kid, algs: ["ed25519"], verify: createVerifier(key, "ed25519") };
  const keyLookup = async ({ keyid }) => (keyid === jwk.kid ? known : null);
  const results = [];
  for (const message of messages) {
    try {
      results.push(await httpbis.verifyMessage({ keyLookup }, message));
    } catch (error) {
      results.push(String(error));
    }
  }
  console.log(JSON.stringify(results));
}

main();
