// Verifies signed requests by two implementations of RFC 9421 from npm, and prints what came of it.
// Takes {jwk, messages: [{method, url, headers}]} on standard input.
const { createPublicKey } = require("node:crypto");
const { createVerifier, httpbis } = require("http-message-signatures");
const { verify } = require("web-bot-auth");
const { verifierFromJWK } = require("web-bot-auth/crypto");

async function main() {
  const { jwk, messages } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const known = { id: jwk.kid, algs: ["ed25519"], verify: createVerifier(key, "ed25519") };
  const ofJwk = await verifierFromJWK(jwk);
  const results = [];
  for (const message of messages) {
    const result = {};
    try {
      const keyLookup = async ({ keyid }) => (keyid === jwk.kid ? known : null);
      result["http-message-signatures"] = await httpbis.verifyMessage({ keyLookup }, message);
    } catch (error) {
      result["http-message-signatures"] = String(error);
    }
    try {
      await verify(message, ofJwk);
      result["web-bot-auth"] = true;
    } catch (error) {
      result["web-bot-auth"] = String(error);
    }
    results.push(result);
  }
  console.log(JSON.stringify(results));
}

main();
